// Brackets of the lobby: rounds of matches side by side, and the standings.

import type { Bracket, BracketDetail, BracketEntrant, BracketMatch, BracketSide } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import type { BracketList } from "./brackets.ts";
import { Drawn, action, group, text, userText } from "./drawing.ts";
import { countText, durationText } from "./texts.ts";

const FORMATS = { single_elimination: "Single elimination", double_elimination: "Double elimination", round_robin: "Round robin", swiss: "Swiss" } as const;
const SECTIONS = { winners: "Round", losers: "Losers’ round", final: "Final", repeat: "Decider", group: "Round" } as const;

export class BracketsView {
  private readonly brackets: BracketList;
  private readonly drawn = new Drawn();
  private readonly join = button("bracket-join");
  private readonly leave = button("bracket-leave");
  private ownId = "";

  constructor(brackets: BracketList) {
    this.brackets = brackets;
    this.join.addEventListener("click", () => void brackets.join());
    this.leave.addEventListener("click", () => void brackets.leave());
  }

  show(ownId: string, isConnected: boolean): void {
    this.ownId = ownId;
    const { detail, all, isBusy, isEntrant } = this.brackets;
    element("bracket", HTMLElement).hidden = detail === undefined;
    if (detail === undefined) return;
    const { bracket, entrants, matches } = detail;
    const isReady = isConnected && !isBusy;
    const list = element("brackets", HTMLElement);
    this.drawn.draw(list, [all.map(({ id, title, phase, entrants: size }) => [id, title, phase, size]), bracket.id], () => all.map((each) => this.entry(each, bracket.id)));
    list.hidden = all.length < 2;
    write(element("bracket-title", HTMLElement), titleOf(bracket));
    write(element("bracket-about", HTMLElement), aboutText(detail));
    this.join.hidden = bracket.phase !== "registration" || isEntrant;
    this.leave.hidden = bracket.phase === "finished" || !isEntrant;
    write(this.leave, bracket.phase === "running" ? "Withdraw" : "Leave");
    const rounds = element("bracket-rounds", HTMLElement);
    this.drawn.draw(rounds, [bracket.id, bracket.version, ownId], () => roundsOf(matches).map((round) => this.round(round, matches)));
    rounds.hidden = matches.length === 0;
    for (const press of [this.join, this.leave, ...rounds.querySelectorAll("button")]) press.disabled = !isReady;
    const standings = element("bracket-entrants", HTMLElement);
    this.drawn.draw(standings, [bracket.id, bracket.version, ownId], () => entrants.map((entrant) => this.entrant(entrant)));
    element("bracket-standings", HTMLElement).hidden = entrants.length === 0;
  }

  private entry(bracket: Bracket, activeId: string): HTMLElement {
    const press = group("button", "entry", userText("span", "name", titleOf(bracket)), text("span", "chip", phaseText(bracket)));
    press.type = "button";
    press.setAttribute("aria-pressed", String(bracket.id === activeId));
    press.addEventListener("click", () => this.brackets.select(bracket.id));
    return group("li", "", press);
  }

  private round(round: readonly BracketMatch[], all: readonly BracketMatch[]): HTMLElement {
    const name = roundText(round[0] as BracketMatch, all);
    const list = group("ol", "", ...round.map((match) => this.match(match)));
    list.setAttribute("aria-label", name);
    return group("li", "round", text("h4", "", name), list);
  }

  private match(match: BracketMatch): HTMLElement {
    const made = group("li", `bout ${match.state}`, ...match.sides.map((side, at) => this.side(match, side, at)));
    const opponent = match.sides.find(({ userId }) => userId !== this.ownId);
    const own = match.sides.find(({ userId }) => userId === this.ownId);
    const isOpen = match.state === "ready" || match.state === "disputed";
    if (own === undefined || !isOpen) return made;
    const note = noteText(match, own, opponent);
    if (note !== "") made.append(text("p", "chip", note));
    const won = action("I won", "Report that you won this match", "small main", () => void this.brackets.report(match, this.ownId));
    const lost = action("I lost", "Report that you lost this match", "small", () => void this.brackets.report(match, opponent?.userId ?? ""));
    made.append(group("div", "row", won, lost));
    return made;
  }

  private side(match: BracketMatch, side: BracketSide, at: number): HTMLElement {
    const isWinner = match.outcome === (at === 0 ? "first" : "second");
    const name = side.isBye ? text("span", "name none", "Bye") : side.seed === 0 ? text("span", "name none", "To be decided") : userText("span", "name", side.username === "" ? "Deleted player" : side.username);
    const score = match.scores.some((value) => value > 0) ? String(match.scores[at] ?? 0) : isWinner ? "✓" : "";
    const made = group("div", `side${isWinner ? " won" : ""}${side.userId === this.ownId ? " own" : ""}`, text("span", "seed", side.seed === 0 ? "" : String(side.seed)), name, text("span", "score", score));
    if (isWinner) made.append(text("span", "unseen", "won"));
    return made;
  }

  private entrant({ userId, username, rank, seed, wins, losses, draws, points, hasWithdrawn }: BracketEntrant): HTMLElement {
    const isOwn = userId === this.ownId;
    const name = group("span", "", userText("span", "name", username === "" ? "Deleted player" : username));
    if (isOwn) name.append(text("span", "tag", "You"));
    if (hasWithdrawn) name.append(text("span", "unseen", "has withdrawn"));
    const record = seed === 0 ? "" : `${wins}–${draws > 0 ? `${draws}–` : ""}${losses}`;
    return group("tr", `${isOwn ? "own" : ""}${hasWithdrawn ? " withdrawn" : ""}`, text("td", "rank", rank === 0 ? "" : String(rank)), group("td", "player", name), text("td", "score", record), text("td", "score", seed === 0 ? "" : String(points)));
  }
}

function titleOf({ title, id }: Bracket): string {
  return title.trim() === "" ? id : title;
}

function phaseText({ phase, entrants, entrantsMax }: Bracket): string {
  if (phase === "registration") return `Open · ${entrants} of ${entrantsMax} players`;
  return phase === "running" ? "Running" : "Finished";
}

function aboutText({ bracket, entrants }: BracketDetail): string {
  const winner = entrants.find(({ userId }) => userId !== undefined && userId === bracket.winnerId);
  const state = winner === undefined ? phaseText(bracket) : `Won by ${winner.username}`;
  return `${FORMATS[bracket.format] ?? bracket.format} · ${bracket.phase === "registration" ? state : `${countText(bracket.entrants, "player")} · ${state}`}`;
}

/** Returns matches by section and round, in the order of the bracket. */
function roundsOf(matches: readonly BracketMatch[]): BracketMatch[][] {
  const rounds = new Map<string, BracketMatch[]>();
  for (const match of matches) {
    if (match.state === "skipped") continue;
    const name = `${match.section} ${match.round}`;
    rounds.set(name, [...(rounds.get(name) ?? []), match]);
  }
  const order = Object.keys(SECTIONS);
  return [...rounds.values()].sort(([one], [other]) => {
    const [a, b] = [one as BracketMatch, other as BracketMatch];
    return order.indexOf(a.section) - order.indexOf(b.section) || a.round - b.round;
  });
}

/** Returns the name of a round: the last ones of an elimination have their own. */
function roundText({ section, round }: BracketMatch, all: readonly BracketMatch[]): string {
  if (section === "final" || section === "repeat") return SECTIONS[section];
  const last = Math.max(...all.filter((match) => match.section === section).map((match) => match.round));
  const isSingle = section === "winners" && all.every((match) => match.section === "winners");
  if (isSingle && round === last) return "Final";
  if (isSingle && round === last - 1) return "Semifinals";
  return `${SECTIONS[section]} ${round}`;
}

function noteText({ state, deadline }: BracketMatch, own: BracketSide, opponent: BracketSide | undefined): string {
  if (state === "disputed") return "The reports differ. Change yours, or wait for an operator.";
  if (own.report !== undefined) return "You reported. Waiting for your opponent.";
  if (opponent?.report !== undefined) return "Your opponent has reported. Report too.";
  return deadline === undefined ? "" : `Report within ${durationText(deadline.getTime() - Date.now())}.`;
}
