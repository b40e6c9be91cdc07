// Headless Chromium for tests.

/** Options of Playwright's `chromium.launch`. The packages that use this depend on Playwright. */
export const BROWSER = {
  executablePath: process.env.AETHER_CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

/** Collects errors, warnings and exceptions of a page. */
export function complaintsOf(page) {
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return complaints;
}
