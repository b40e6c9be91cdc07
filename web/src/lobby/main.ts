// Page of the lobby.

import { element } from "../shared/elements.ts";
import { expose } from "../shared/exposed.ts";
import { Notices, type Tone } from "../shared/notices.ts";
import { BracketList } from "./brackets.ts";
import { BracketsView } from "./brackets_view.ts";
import { ChatView } from "./chat_view.ts";
import { Conversations } from "./conversations.ts";
import { FriendList } from "./friends.ts";
import { FriendsView } from "./friends_view.ts";
import { GroupList } from "./groups.ts";
import { GroupsView } from "./groups_view.ts";
import { linkWithParty } from "./links.ts";
import { Lobby } from "./lobby.ts";
import { OpenParties } from "./parties.ts";
import { ReportView } from "./report_view.ts";
import { messageText, nameOf } from "./texts.ts";
import { TournamentList } from "./tournaments.ts";
import { TournamentsView } from "./tournaments_view.ts";
import { View } from "./view.ts";

/** Time in which the player sees that a match was found, before the page changes. */
const FOUND_MS = 1_200;

/** Update interval of the waiting time. */
const CLOCK_MS = 250;

const notices = new Notices(element("notices", HTMLElement));
const events = { changed: () => changed(), notice: (text: string, tone: Tone) => notices.show(text, tone) };
const conversations = new Conversations(events);
const friends = new FriendList(events);
const groups = new GroupList(events);
const tournaments = new TournamentList(events);
const brackets = new BracketList(events);
const lobby = new Lobby({
  ...events,
  opened: (socket) => {
    for (const part of [conversations, friends, groups, brackets]) part.attach(socket);
    void tournaments.refresh();
  },
  closed: () => {
    conversations.detach();
    friends.detach();
  },
  play: (address) => void setTimeout(() => location.assign(address), FOUND_MS),
});
const parties = new OpenParties(() => changed());
const view = new View({
  create: () => void lobby.createParty().then(() => parties.refresh()),
  leave: () => void lobby.leaveParty().then(() => parties.refresh()),
  find: (playersMax) => void lobby.findMatch(playersMax),
  cancel: () => void lobby.cancelSearch(),
  join: (id) => void lobby.join(id).then(() => parties.refresh()),
  remove: (member) => void lobby.removeMember(member),
  retry: () => lobby.retryNow(),
});
const reportView = new ReportView(events.notice);
const chatView = new ChatView(conversations, {
  report: (message) => reportView.open(message),
  addFriend: (username) => void friends.add(username).then((error) => error !== undefined && events.notice(error, "bad")),
});
const friendsView = new FriendsView(friends, {
  chat: (user) => openChat(() => conversations.open("direct", user.id, nameOf(user))),
  gone: (user) => conversations.closeWith(user.id),
});
const groupsView = new GroupsView(groups, {
  chat: (group) => openChat(() => conversations.open("group", group.id, group.name)),
  gone: (group) => conversations.closeWith(group.id),
});
const tournamentsView = new TournamentsView(tournaments);
const bracketsView = new BracketsView(brackets);

expose(() => ({
  phase: lobby.phase.name,
  me: lobby.me?.username,
  userId: lobby.me?.userId,
  party: lobby.party && { id: lobby.party.id, leader: lobby.party.leader.username, members: lobby.party.members.map(({ username }) => username) },
  isSearching: lobby.search !== undefined,
  found: lobby.found?.address,
  reconnects: lobby.reconnects,
  parties: parties.list,
  chats: conversations.all.map(({ title, kind, unread, channel, messages }) => ({ title, kind, unread, isJoined: channel !== undefined, messages: messages.map(messageText) })),
  chat: conversations.active.title,
  friends: friends.all?.map(({ user, state }) => ({ name: user.username, state, status: friends.statusOf(user) })),
  groups: groups.own?.map(({ group }) => group.name),
  tournament: tournaments.active?.id,
  bracket: brackets.detail?.bracket.phase,
}));

void lobby.connect().then(() => parties.refresh());
setInterval(() => view.tick(lobby), CLOCK_MS);
document.addEventListener("visibilitychange", () => !document.hidden && conversations.select(conversations.active));

function changed(): void {
  const isConnected = lobby.phase.name === "playing";
  view.show(lobby, parties.list);
  chatView.show(lobby.me?.userId ?? "", isConnected);
  friendsView.show(isConnected);
  groupsView.show(isConnected);
  tournamentsView.show(isConnected);
  bracketsView.show(lobby.me?.userId ?? "", isConnected);
  showPartyInAddress();
}

function openChat(open: () => void): void {
  open();
  element("chat", HTMLElement).scrollIntoView({ block: "nearest" });
  element("chat-text", HTMLInputElement).focus({ preventScroll: true });
}

/** A reloaded page joins its party again. */
function showPartyInAddress(): void {
  const { party, phase } = lobby;
  // The link is kept until it was used.
  if (phase.name !== "playing" || lobby.isBusy) return;
  const wanted = linkWithParty(new URL(location.href), party?.id);
  if (wanted.href !== location.href) history.replaceState(history.state, "", wanted);
}
