// A person at a browser: opens a page, holds keys, looks.
import { chromium } from "playwright-core";
import { BROWSER, complaintsOf } from "../../../testing/browser.mjs";

/** Long, because the machine may have much else to do; what is awaited comes as soon as it can. */
export const WAIT_MS_MAX = 60_000;
export const POLL_MS = 30;

export function launch() {
  return chromium.launch(BROWSER);
}

export class Visitor {
  #held = new Set();
  /** What the browser complained about. */
  complaints;
  page;

  /** Opens a page as someone whom the server does not know. */
  static async open(browser, url, options = {}) {
    const visitor = new this();
    const context = await browser.newContext({ viewport: { width: 1000, height: 700 }, colorScheme: "dark", ...options });
    visitor.page = await context.newPage();
    visitor.page.setDefaultTimeout(WAIT_MS_MAX);
    visitor.complaints = complaintsOf(visitor.page);
    await visitor.page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    await visitor.page.goto(url);
    return visitor;
  }

  async close() {
    await this.page.context().close();
  }

  state() {
    return this.page.evaluate(() => window.aether.state());
  }

  /** Waits until the page's state fulfils a condition; returns that state. */
  async until(what, condition) {
    const deadline = Date.now() + WAIT_MS_MAX;
    for (;;) {
      const state = await this.state();
      if (condition(state)) return state;
      if (Date.now() > deadline) throw new Error(`not in time: ${what}; the page's state is ${JSON.stringify(state)}`);
      await pause();
    }
  }

  async hold(...keys) {
    for (const key of this.#held) if (!keys.includes(key)) await this.page.keyboard.up(key);
    for (const key of keys) if (!this.#held.has(key)) await this.page.keyboard.down(key);
    this.#held = new Set(keys);
  }

  notice(text) {
    return this.page.locator("#notices").getByText(text).last().waitFor({ timeout: WAIT_MS_MAX });
  }

  /** How many pixels of the page stick out to the side. */
  overflow() {
    return this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  }
}

/** Waits for a moment, between two looks at something. */
export function pause() {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** What a browser itself says while a server is away; it is no fault of a page. */
export const AWAY = /net::ERR_|WebSocket connection to|Failed to establish a connection|Connection lost|Failed to load resource/;
