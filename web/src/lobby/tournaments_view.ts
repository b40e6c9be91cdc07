// Tournaments of the lobby: the list, the records of one, and the reaction test.

import type { LeaderboardRecord, Tournament } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import { Drawn, badge, group, text, userText } from "./drawing.ts";
import { Reflex, type ReflexPhase } from "./reflex.ts";
import { countText, durationText } from "./texts.ts";
import type { TournamentList } from "./tournaments.ts";

const PRESS_TEXTS = { idle: "Start", waiting: "Wait for it…", signal: "Press now!", early: "Try again", late: "Try again", done: "Try again" } as const;

/** A click within this time belongs to the press before it. */
const CLICK_MS_MAX = 1_000;

export class TournamentsView {
  private readonly tournaments: TournamentList;
  private readonly list = element("tournaments", HTMLElement);
  private readonly join = button("tournament-join");
  private readonly press = button("reflex-press");
  private readonly drawn = new Drawn();
  private readonly reflex: Reflex;
  private pressedMs = -Infinity;

  constructor(tournaments: TournamentList) {
    this.tournaments = tournaments;
    this.reflex = new Reflex(
      () => this.showReflex(),
      (milliseconds) => void tournaments.submit(milliseconds),
    );
    this.join.addEventListener("click", () => void tournaments.join());
    // A click follows the release of a pointer or a key; the press is what counts.
    this.press.addEventListener("pointerdown", (event) => event.button === 0 && this.pressed());
    this.press.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      if (!event.repeat) this.pressed();
    });
    // Screen readers click without a press.
    this.press.addEventListener("click", () => performance.now() - this.pressedMs > CLICK_MS_MAX && this.pressed());
  }

  show(isConnected: boolean): void {
    const { all, active, error, isBusy, hasJoined } = this.tournaments;
    const isReady = isConnected && !isBusy;
    const shown = all ?? [];
    this.drawn.draw(this.list, [shown.map((each) => [each.id, aboutText(each)]), active?.id], () => shown.map((each) => this.entry(each)));
    this.list.hidden = shown.length < 2;
    element("tournament-empty", HTMLElement).hidden = active !== undefined;
    write(element("tournament-empty-text", HTMLElement), all === undefined ? (error ?? "Looking for tournaments…") : "No tournament runs now. Come back later.");
    element("tournament", HTMLElement).hidden = active === undefined;
    if (active === undefined) return;
    this.showActive(active);
    this.join.hidden = hasJoined || !active.canEnter;
    this.join.disabled = !isReady;
    element("reflex", HTMLElement).hidden = !hasJoined || !this.tournaments.isReflex(active) || !active.canEnter;
    this.press.disabled = !isConnected;
    this.showRecords(active);
    this.showReflex();
  }

  private entry(tournament: Tournament): HTMLElement {
    const isActive = tournament.id === this.tournaments.active?.id;
    const press = group("button", "entry", userText("span", "name", titleOf(tournament)), text("span", "chip", aboutText(tournament)));
    press.type = "button";
    press.setAttribute("aria-pressed", String(isActive));
    press.addEventListener("click", () => this.tournaments.select(tournament));
    return group("li", "", press);
  }

  private showActive(active: Tournament): void {
    const [title, description] = [element("tournament-title", HTMLElement), element("tournament-description", HTMLElement)];
    [title.dir, description.dir] = ["auto", "auto"];
    write(title, titleOf(active));
    write(description, active.description);
    write(element("tournament-about", HTMLElement), aboutText(active));
  }

  private showRecords(active: Tournament): void {
    const { records, own, error } = this.tournaments;
    const shown = records ?? [];
    const unit = this.tournaments.isReflex(active) ? " ms" : "";
    const isBelow = own !== undefined && own.rank > 0 && !shown.some(({ ownerId }) => ownerId === own.ownerId);
    const rows = isBelow ? [...shown, own] : shown;
    const contents = [unit, own?.ownerId, rows.map(({ ownerId, score, rank, username }) => [ownerId, score, rank, username])];
    this.drawn.draw(element("tournament-records", HTMLElement), contents, () => rows.map((record, at) => this.record(record, at + 1, unit)));
    element("tournament-table", HTMLElement).hidden = rows.length === 0;
    const hint = error ?? (records === undefined ? "Reading the records…" : "No records yet. Be the first.");
    write(element("tournament-none", HTMLElement), rows.length === 0 ? hint : "");
  }

  private record({ ownerId, username, score, rank }: LeaderboardRecord, place: number, unit: string): HTMLElement {
    const isOwn = ownerId === this.tournaments.own?.ownerId;
    const player = group("td", "player", group("span", "", badge(username, ownerId), userText("span", "name", username)));
    if (isOwn) player.firstElementChild?.append(text("span", "tag", "You"));
    const row = group("tr", isOwn ? "own" : "", text("td", "rank", String(rank === 0 ? place : rank)), player, text("td", "score", `${score.toLocaleString("en")}${unit}`));
    row.dataset["user"] = ownerId;
    return row;
  }

  private pressed(): void {
    this.pressedMs = performance.now();
    this.reflex.press();
  }

  private showReflex(): void {
    const { phase } = this.reflex;
    this.press.dataset["phase"] = phase.name;
    write(this.press, PRESS_TEXTS[phase.name]);
    write(element("reflex-text", HTMLElement), reflexText(phase));
  }
}

function titleOf({ title, id }: Tournament): string {
  return title.trim() === "" ? id : title;
}

/** Returns the players of a tournament and the time until its round ends. */
function aboutText({ players, playersMax, roundStartsAt, roundEndsAt, canEnter }: Tournament, nowMs = Date.now()): string {
  const size = playersMax === 0 ? countText(players, "player") : `${players} of ${playersMax} players`;
  if (roundStartsAt !== undefined && roundStartsAt.getTime() > nowMs) return `${size} · starts in ${durationText(roundStartsAt.getTime() - nowMs)}`;
  if (roundEndsAt !== undefined && roundEndsAt.getTime() > nowMs) return `${size} · ends in ${durationText(roundEndsAt.getTime() - nowMs)}`;
  return canEnter ? size : `${size} · over`;
}

function reflexText(phase: ReflexPhase): string {
  if (phase.name === "early") return "Too early: wait until the button changes.";
  if (phase.name === "late") return "Too late. Try again.";
  if (phase.name === "done") return `${phase.milliseconds} ms.`;
  return phase.name === "idle" ? "Press Start, wait until the button turns green, and press it as fast as you can." : "";
}
