// Headless Chromium for tests.

/** Options of `chromium.launch` of Playwright, which is a package of those who use this. */
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

/** Collects what a page's browser complains about: errors, warnings, exceptions. */
export function complaintsOf(page) {
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return complaints;
}
