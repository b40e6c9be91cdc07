// Page of the lobby.

import { element } from "../shared/elements.ts";
import { expose } from "../shared/exposed.ts";
import { Notices } from "../shared/notices.ts";
import { linkWithParty } from "./links.ts";
import { Lobby } from "./lobby.ts";
import { OpenParties } from "./parties.ts";
import { View } from "./view.ts";

/** Time in which the player sees that a match was found, before the page changes. */
const FOUND_MS = 1_200;

/** Update interval of the waiting time. */
const CLOCK_MS = 250;

const notices = new Notices(element("notices", HTMLElement));
const lobby = new Lobby({
  changed: () => changed(),
  notice: (text, tone) => notices.show(text, tone),
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

expose(() => ({
  phase: lobby.phase.name,
  me: lobby.me?.username,
  party: lobby.party && { id: lobby.party.id, leader: lobby.party.leader.username, members: lobby.party.members.map(({ username }) => username) },
  isSearching: lobby.search !== undefined,
  found: lobby.found?.address,
  reconnects: lobby.reconnects,
  parties: parties.list,
}));

void lobby.connect().then(() => parties.refresh());
setInterval(() => view.tick(lobby), CLOCK_MS);

function changed(): void {
  view.show(lobby, parties.list);
  showPartyInAddress();
}

/** A reloaded page joins its party again. */
function showPartyInAddress(): void {
  const { party, phase } = lobby;
  // The link is kept until it was used.
  if (phase.name !== "playing" || lobby.isBusy) return;
  const wanted = linkWithParty(new URL(location.href), party?.id);
  if (wanted.href !== location.href) history.replaceState(history.state, "", wanted);
}
