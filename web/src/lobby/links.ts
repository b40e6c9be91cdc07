// Links of the lobby: to a party, and to the room of a match.

/** Returns the party in a link. */
export function partyIdOf(link: URL): string | undefined {
  const id = link.searchParams.get("party");
  return id === null || id === "" ? undefined : id;
}

/** Returns a link with another party, or with none. */
export function linkWithParty(link: URL, partyId: string | undefined): URL {
  const next = new URL(link);
  next.hash = "";
  if (partyId === undefined) next.searchParams.delete("party");
  else next.searchParams.set("party", partyId);
  return next;
}

/** Returns the address of the Arena room of a match. */
export function arenaAddress(matchId: string): string {
  return `/arena?match=${encodeURIComponent(matchId)}`;
}
