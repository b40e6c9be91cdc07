// Player in the lobby, who may be taken to Arena.
import { ArenaPlayer } from "./arena_player.mjs";

export class LobbyPlayer extends ArenaPlayer {
  ready() {
    return this.until("the page is connected", (state) => state.phase === "playing" && state.me !== undefined);
  }

  /** Waits for a party with so many members; returns its state. */
  async inParty(members) {
    const { party } = await this.until(`the party has ${members} members`, (state) => state.party?.members.length === members);
    return party;
  }

  async createParty() {
    await this.ready();
    await this.page.click("#create");
    return this.inParty(1);
  }

  /** Link of the party, as the page shows it. */
  link() {
    return this.page.inputValue("#link");
  }

  /** Chooses a size of the match and starts the search. */
  async find(playersMax) {
    await this.page.check(`input[name="size"][value="${playersMax}"]`, { force: true });
    await this.page.click("#find");
  }

  /** Waits until the page is in the Arena room of the match; returns its state. */
  async inArena() {
    await this.page.waitForURL("**/arena?match=*");
    await this.page.waitForFunction(() => window.aether !== undefined);
    return this.watching();
  }
}
