// Looks at a page in both widths and themes, and prints as JSON what it saw: node look.mjs CHROMIUM PAGE FOLDER-FOR-SCREENSHOTS
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, path, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args });
const address = pathToFileURL(path).href, seen = { errors: [], fetched: [], axe: {}, overflow: {} };

for (const width of [390, 1280]) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await (await browser.newContext({ viewport: { width, height: 900 }, colorScheme })).newPage();
    page.on("console", (message) => { if (["error", "warning"].includes(message.type())) seen.errors.push(message.text()); });
    page.on("pageerror", (error) => seen.errors.push(error.message));
    page.on("request", (request) => { if (request.url() !== address) seen.fetched.push(request.url()); });
    await page.goto(address);
    const name = `${width}-${colorScheme}`;
    for (const details of await page.locator("details > summary").all()) if (await details.isVisible()) await details.click();
    await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
    seen.overflow[name] = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run());
    seen.axe[name] = found.violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes[0].html.slice(0, 200) }));
    await page.context().close();
  }
}
await browser.close();
console.log(JSON.stringify(seen));
