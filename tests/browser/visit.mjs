// Visits a page as people do, and prints as JSON what it saw: node visit.mjs CHROMIUM PAGE FOLDER-FOR-SCREENSHOTS
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

async function open(options) {
  const page = await (await browser.newContext(options)).newPage();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) seen.errors.push(message.text()); });
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("request", (request) => { if (request.url() !== address) seen.fetched.push(request.url()); });
  await page.goto(address);
  return page;
}

for (const width of [390, 1280]) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open({ viewport: { width, height: 900 }, colorScheme }), name = `${width}-${colorScheme}`;
    await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
    seen.overflow[name] = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    for (const details of await page.locator("details > summary").all()) if (await details.isVisible()) await details.click();
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run());
    seen.axe[name] = found.violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes[0].html.slice(0, 200) }));
    await page.context().close();
  }
}

const page = await open({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
const table = page.locator("main .table table").first(), head = table.getByRole("columnheader", { name: /^test / });
const look = async () => ({
  order: await table.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.cells[0].textContent.trim())),
  said: await head.getAttribute("aria-sort"),
});
seen.sort = [await look()];
for (let press = 0; press < 2; press++) {
  await head.getByRole("button").click();
  seen.sort.push(await look());
}

const legend = page.locator(".legend:visible").first(), chart = page.locator("figure.lines:visible").first();
const lines = () => chart.locator("svg.canvas g.series:visible").count();
const button = legend.getByRole("button").first();
seen.hide = { before: await lines() };
await button.click();
seen.hide.after = await lines();
seen.hide.pressed = await button.getAttribute("aria-pressed");
seen.hide.faded = await page.locator("tr.off").count();

await chart.locator(".plot").hover({ position: { x: 500, y: 100 } });
seen.hover = await chart.locator(".readout").innerText();
await chart.locator(".plot").focus();
await page.keyboard.press("End");
seen.heard = await chart.locator("[aria-live]").innerText();
await chart.getByText("Values as a table").click();
seen.values = await chart.locator(".values tbody tr").count();

const tabs = page.getByRole("tablist", { name: "Curve" }).first().getByRole("tab");
await tabs.first().focus();
await page.keyboard.press("ArrowRight");
seen.tab = await page.locator(".tabs").first().locator("> [role=tabpanel]:visible").getAttribute("aria-label");

const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const theme = page.getByRole("button", { name: /^Theme/ });
seen.themes = [[await theme.innerText(), await back()]];
for (let press = 0; press < 2; press++) {
  await theme.click();
  seen.themes.push([await theme.innerText(), await back()]);
}
await page.reload();
seen.after = {
  theme: await back(), order: (await look()).order, pressed: await page.locator('.legend [aria-pressed="false"]').count(),
  tab: await page.locator(".tabs").first().locator("> [role=tabpanel]:visible").getAttribute("aria-label"),
};
const pdf = await page.pdf({ path: `${folder}/print.pdf`, format: "A4" });
seen.print = { start: pdf.subarray(0, 5).toString(), pages: (pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? []).length };
await page.emulateMedia({ media: "print" });
seen.print.back = await back();
seen.print.controls = await page.locator(".controls").isVisible();

const plain = await open({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
seen.plain = { charts: await plain.locator("figure.lines:visible").count(), tabs: await plain.locator("[role=tab]:visible").count() };
await browser.close();
console.log(JSON.stringify(seen));
