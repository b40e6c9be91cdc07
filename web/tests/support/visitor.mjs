// A visitor of a page, in a browser.
import { chromium } from "playwright-core";
import { BROWSER, complaintsOf } from "../../../testing/browser.mjs";

/** Generous, because the machine may be busy. */
export const WAIT_MS_MAX = 60_000;
export const POLL_MS = 30;

export function launch() {
  return chromium.launch(BROWSER);
}

export class Visitor {
  #held = new Set();
  /** Errors and warnings that the browser logged. */
  complaints;
  page;

  /** Opens a page in a new context, without an account. */
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
      if (Date.now() > deadline) throw new Error(`timed out waiting for: ${what}; the page's state is ${JSON.stringify(state)}`);
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

  /** Returns the horizontal overflow of the page in pixels. */
  overflow() {
    return this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  }
}

/** Waits for one polling interval. */
export function pause() {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** Messages that a browser logs while a server is down. */
export const OFFLINE = /net::ERR_|WebSocket connection to|Failed to establish a connection|Connection lost|Failed to load resource/;
