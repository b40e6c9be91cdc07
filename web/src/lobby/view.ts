// The page of the lobby, drawn from its state.

import type { Party, Presence } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import { Drawn, action, badge, text, userText } from "./drawing.ts";
import { linkWithParty } from "./links.ts";
import type { Lobby, Search } from "./lobby.ts";
import type { OpenParty } from "./parties.ts";
import { clockText, countText } from "./texts.ts";

const PILLS = { playing: "Connected", connecting: "Connecting", waiting: "Reconnecting", ended: "Disconnected" } as const;

/** Requests of the player. */
export interface ViewEvents {
  create(): void;
  leave(): void;
  find(playersMax: number): void;
  cancel(): void;
  join(partyId: string): void;
  remove(member: Presence): void;
  retry(): void;
}

export class View {
  private readonly events: ViewEvents;
  private readonly members = element("members", HTMLElement);
  private readonly link = element("link", HTMLInputElement);
  private readonly copy = button("copy");
  private readonly find = button("find");
  private readonly create = button("create");
  private readonly cancel = button("cancel");
  private readonly leave = button("leave");
  private readonly sizes = [...document.querySelectorAll<HTMLInputElement>('input[name="size"]')];
  private readonly drawn = new Drawn();
  /** Takes the focus after a request, because the pressed button is gone then. */
  private focusedNext: HTMLButtonElement | undefined;

  constructor(events: ViewEvents) {
    this.events = events;
    this.listen(this.find, this.cancel, () => events.find(this.playersMax));
    this.listen(this.cancel, this.find, () => events.cancel());
    this.listen(this.create, this.copy, () => events.create());
    this.listen(this.leave, this.create, () => events.leave());
    button("connect").addEventListener("click", () => events.retry());
    this.copy.addEventListener("click", () => void this.copyLink());
    this.link.addEventListener("focus", () => this.link.select());
  }

  /** Draws the waiting time. */
  tick(lobby: Lobby): void {
    if (lobby.search !== undefined) write(element("waited", HTMLElement), clockText(performance.now() - lobby.search.sinceMs));
  }

  show(lobby: Lobby, parties: readonly OpenParty[] | undefined): void {
    document.body.dataset["phase"] = lobby.phase.name;
    write(element("state-text", HTMLElement), PILLS[lobby.phase.name]);
    write(element("me", HTMLElement), lobby.me?.username ?? "…");
    this.showTrouble(lobby);
    this.showParty(lobby);
    this.showIdle(lobby);
    this.showSearch(lobby);
    this.showFound(lobby);
    this.showParties(lobby, parties);
    this.tick(lobby);
    if (lobby.isBusy) return;
    this.focusedNext?.focus();
    this.focusedNext = undefined;
  }

  private listen(pressed: HTMLButtonElement, next: HTMLButtonElement, request: () => void): void {
    pressed.addEventListener("click", () => {
      this.focusedNext = next;
      request();
    });
  }

  /** Size of the match that the player has chosen. */
  private get playersMax(): number {
    return Number(this.sizes.find((size) => size.checked)?.value ?? 4);
  }

  private showTrouble({ phase, reconnects, me }: Lobby): void {
    const isTrouble = phase.name === "waiting" || phase.name === "ended";
    element("trouble", HTMLElement).hidden = !isTrouble;
    if (!isTrouble) return;
    const hasPlayed = me !== undefined || reconnects > 0;
    write(element("trouble-title", HTMLElement), phase.name === "ended" ? "Disconnected" : hasPlayed ? "Connection lost" : "No connection");
    write(element("trouble-text", HTMLElement), phase.name === "waiting" ? `${phase.text} Trying again…` : phase.text);
    write(button("connect"), phase.name === "waiting" ? "Try now" : "Reconnect");
  }

  private showParty({ party, me, phase, isBusy, search }: Lobby): void {
    write(element("title-party", HTMLElement), party === undefined ? "No party yet" : `Party of ${party.leader.username}`);
    this.leave.hidden = party === undefined;
    this.leave.disabled = isBusy || phase.name !== "playing";
    element("invite", HTMLElement).hidden = party === undefined;
    const link = linkWithParty(new URL("/lobby", location.href), party?.id).href;
    if (this.link.value !== link) this.link.value = link;
    const own = me === undefined ? [] : [{ userId: me.userId, sessionId: "", username: me.username, status: undefined }];
    const people = party?.members ?? own;
    const canRemove = party?.isLeader === true && phase.name === "playing" && search === undefined;
    const rows = people.map((member) => {
      const isLeader = party !== undefined && member.sessionId === party.leader.sessionId;
      const isSelf = member.userId === me?.userId;
      return { member, isLeader, isSelf, canRemove: canRemove && !isSelf };
    });
    const free = party === undefined ? 0 : Math.max(0, party.membersMax - people.length);
    this.drawn.draw(this.members, [rows, free], () => [...rows.map((row) => this.person(row)), ...Array.from({ length: free }, freePlace)]);
  }

  private person({ member, isLeader, isSelf, canRemove }: { member: Presence; isLeader: boolean; isSelf: boolean; canRemove: boolean }): HTMLElement {
    const row = document.createElement("li");
    row.className = "person";
    row.dataset["user"] = member.userId;
    row.append(badge(member.username, member.userId), userText("span", "name", member.username));
    if (isLeader) row.append(text("span", "tag leads", "Leader"));
    if (isSelf) row.append(text("span", "tag", "You"));
    if (canRemove) {
      row.append(action("Remove", `Remove ${member.username}`, "quiet small", () => this.events.remove(member)));
    }
    return row;
  }

  private showIdle(lobby: Lobby): void {
    const { party, search, found, phase, isBusy, isInCharge, groupSize } = lobby;
    element("idle", HTMLElement).hidden = search !== undefined || found !== undefined;
    const isReady = phase.name === "playing" && !isBusy;
    this.find.disabled = !isReady || !isInCharge;
    this.find.hidden = !isInCharge;
    this.create.disabled = !isReady;
    this.create.hidden = party !== undefined;
    const sizes = element("sizes", HTMLFieldSetElement);
    sizes.hidden = !isInCharge;
    sizes.disabled = !isReady;
    for (const size of this.sizes) size.disabled = Number(size.value) < groupSize;
    // A party does not fit a smaller match.
    if (this.playersMax < groupSize) for (const size of this.sizes) size.checked = Number(size.value) === 4;
    write(element("idle-text", HTMLElement), idleText(lobby));
  }

  private showSearch({ search, isInCharge, party, isBusy, phase }: Lobby): void {
    element("search", HTMLElement).hidden = search === undefined;
    this.cancel.hidden = !isInCharge;
    this.cancel.disabled = isBusy || phase.name !== "playing";
    if (search !== undefined) {
      write(element("search-text", HTMLElement), searchText(search, party, isInCharge));
    }
  }

  private showFound({ found }: Lobby): void {
    element("found", HTMLElement).hidden = found === undefined;
    if (found === undefined) return;
    write(element("found-text", HTMLElement), `Joining Arena with ${countText(found.users.length, "player")}…`);
    element("enter", HTMLAnchorElement).href = found.address;
  }

  private showParties({ party, phase, isBusy, search, found }: Lobby, parties: readonly OpenParty[] | undefined): void {
    const others = (parties ?? []).filter(({ id }) => id !== party?.id);
    const canJoin = phase.name === "playing" && !isBusy && search === undefined && found === undefined;
    const list = element("parties", HTMLElement);
    this.drawn.draw(list, others, () => others.map((each) => this.openParty(each)));
    for (const join of list.querySelectorAll("button")) join.disabled = !canJoin;
    element("nobody", HTMLElement).hidden = others.length > 0;
    write(element("nobody-text", HTMLElement), nobodyText(parties !== undefined, party !== undefined));
    write(element("open-count", HTMLElement), others.length === 0 ? "" : countText(others.length, "party").replace("partys", "parties"));
  }

  private openParty({ id, leader, members, membersMax }: OpenParty): HTMLElement {
    const row = document.createElement("li");
    row.className = "party";
    const name = leader === "" ? "Open party" : leader;
    const about = document.createElement("div");
    about.append(userText("span", "name", name), text("span", "chip", `${members} of ${membersMax} players`));
    row.append(badge(name, id), about, action("Join", `Join the party of ${name}`, "", () => this.events.join(id)));
    return row;
  }

  private async copyLink(): Promise<void> {
    this.link.select();
    try {
      await navigator.clipboard.writeText(this.link.value);
      write(this.copy, "Copied");
    } catch {
      // A page without a secure origin may not write to the clipboard; the link is selected.
      write(this.copy, "Selected");
    }
    setTimeout(() => write(this.copy, "Copy"), 2_000);
  }
}

function idleText({ party, isInCharge, groupSize, phase }: Lobby): string {
  if (phase.name === "connecting") return "Connecting to the server…";
  if (party === undefined) return "Look for a match by yourself, or create a party and invite friends.";
  if (!isInCharge) return `Waiting for ${party.leader.username} to start the search.`;
  return groupSize === 1 ? "Wait for friends to join, or start now." : "Everyone is taken to the same room when a match is found.";
}

function searchText({ playersMax }: Search, party: Party | undefined, isInCharge: boolean): string {
  const size = playersMax === undefined ? "" : playersMax === 2 ? "For 2 players. " : `For up to ${playersMax} players. `;
  if (party === undefined) return `${size}It starts when someone else searches too.`;
  return size + (isInCharge ? "Your whole party joins it." : `${party.leader.username} has started the search.`);
}

function nobodyText(isKnown: boolean, isInParty: boolean): string {
  if (!isKnown) return "Looking for parties…";
  return isInParty ? "There are no other open parties." : "There are no open parties. Create one, and others see it here.";
}

function freePlace(): HTMLElement {
  const row = document.createElement("li");
  row.className = "person free";
  row.append(text("span", "badge", ""), text("span", "name", "Free place"));
  return row;
}
