// Type tests: this file is compiled, not run.

import { Client, AetherError, type FriendState, type GroupRole, type Party, type Presence, type RoomEvent, type Rules, type SocketEvent } from "../src/index.ts";

interface Save {
  readonly level: number;
}

export async function promises(client: Client): Promise<void> {
  const save = await client.storage.read<Save>("saves", "one");
  const level: number | undefined = save?.value.level;
  // @ts-expect-error A Save has no such field.
  save?.value.lives;
  const score: bigint = (await client.leaderboard.write("board", { score: level ?? 0 })).score;
  // @ts-expect-error A 64-bit integer is not a number.
  const wrong: number = score;
  await client.session.signIn({ email: "a@b.c", password: "secret" });
  // @ts-expect-error An email address needs a password.
  await client.session.signIn({ email: "a@b.c" });
  // @ts-expect-error A username cannot be linked.
  await client.account.link({ username: "ann", password: "secret" });

  const room = await client.join<{ thrust: boolean }>("sandbox");
  room.setInput({ thrust: true });
  // @ts-expect-error The input has no such field.
  room.setInput({ boost: true });
  room.on("possession", ({ entity }) => entity.toFixed());
  // @ts-expect-error There is no such event.
  room.on("nothing", () => undefined);
  const rules: Rules<{ position: [number, number] }, { thrust: boolean }> = {
    channel: "movement",
    step: (state, input, seconds) => void (state.position[0] += input.thrust ? seconds : 0),
  };
  await client.join<{ thrust: boolean }>("sandbox", { rules, core: "wasm" });
  await client.join("outpost", { metadata: { profile: "mage" } });
  // @ts-expect-error Join metadata are texts.
  await client.join("outpost", { metadata: { level: 3 } });
  // @ts-expect-error There is no such core.
  await client.join("sandbox", { core: "xml" });
  room.settings = { prediction: false };
  room.conditions = { latencyMs: 100 };
  // @ts-expect-error Settings must be assigned to take effect.
  room.settings.prediction = true;
  const corrections: number = room.statistics.corrections;
  corrections.toFixed();
  for await (const event of room.events("lost", "ended")) {
    const kind: "lost" | "ended" = event.kind;
    if (event.kind === "ended") event.reason.toUpperCase();
    else kind.toUpperCase();
  }
  for await (const event of room) handle(event);
  await client.account.read().catch((error: unknown) => error instanceof AetherError && error.code === "not_found" && wrong);
}

export async function socket(client: Client, friendId: string): Promise<void> {
  const socket = await client.openSocket({ status: "in the lobby" });
  const friends: readonly Presence[] = await socket.status.follow([friendId]);
  // @ts-expect-error A party needs the number of its members.
  await socket.parties.create({ isOpen: true });
  const party: Party = await socket.parties.create({ membersMax: 4, label: { game: "arena" } });
  // @ts-expect-error The members are changed by the server.
  party.members = friends;
  await party.addTicket({ playersMin: 2, playersMax: 4, numbers: { skill: 10 } });
  // @ts-expect-error Numbers and texts have their own fields.
  await party.addTicket({ playersMin: 2, playersMax: 4, numbers: { mode: "duel" } });
  const { match: choice } = await socket.next("matched");
  const match = await socket.matches.join(choice, { metadata: { team: "red" } });
  match.send(1, new Uint8Array(2), { isReliable: false });
  socket.on("match_data", ({ data, sender }) => data.length + (sender?.username.length ?? 0));
  // @ts-expect-error There is no such event.
  socket.on("nothing", () => undefined);
  for await (const event of socket.events("party_left", "match_left")) event.reason.toUpperCase();
  for await (const event of socket) kindOf(event);
}

export async function social(client: Client): Promise<void> {
  const { friends } = await client.friends.list({ state: "invite_received" });
  const state: FriendState | undefined = friends[0]?.state;
  // @ts-expect-error There is no such state.
  await client.friends.list({ state: "enemy" });
  const { members } = await client.groups.members("g", { role: "admin" });
  const role: GroupRole | undefined = members[0]?.role;
  // @ts-expect-error The number of members is fixed when a group is created.
  await client.groups.update("g", { membersMax: 2 });
  const record: bigint = (await client.tournaments.write("t", { score: 1n })).score;
  const channel = await (await client.openSocket()).chat.joinRoom("lobby", { backlog: 10 });
  const page = await channel.history<{ readonly text: string }>();
  const text: string | undefined = page.messages[0]?.content.text;
  // @ts-expect-error A content is an object.
  await channel.send("hi");
  console.log(state, role, record, text);
}

function kindOf(event: SocketEvent): string {
  return event.kind;
}

function handle(event: RoomEvent): string {
  return event.kind;
}
