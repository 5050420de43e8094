'use strict';
// Opens the sample reports in a real browser and uses them as people do: mouse, keyboard, both themes, two widths, paper.
// Usage: node report.test.js FOLDER-WITH-REPORTS [FOLDER-FOR-SCREENSHOTS]
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { chromium } = require('playwright-core');

const reports = path.resolve(process.argv[2]);
const screenshots = process.argv[3];
const problems = [];
let checks = 0;

async function check(name, body) {
  checks++;
  try {
    await body();
  } catch (error) {
    problems.push(`${name}: ${error.message}`);
  }
}

async function open(context, file) {
  const page = await context.newPage();
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) problems.push(`${file}: console: ${message.text()}`);
  });
  page.on('pageerror', error => problems.push(`${file}: ${error.message}`));
  page.on('request', request => {
    if (!/^(file|data):/.test(request.url())) problems.push(`${file}: asks the network for ${request.url()}`);
  });
  await page.goto(pathToFileURL(path.join(reports, file)).href);
  return page;
}

const names = page => page.$$eval('.body .row', rows => rows
  .filter(row => row.style.display !== 'none')
  .sort((a, b) => Number(a.dataset.at) - Number(b.dataset.at))
  .map(row => row.querySelector('.name').textContent));

/** Contrast of every text in sight against the nearest background, by the formula of WCAG 2.2. */
const lowContrast = page => page.evaluate(() => {
  const channels = color => (color.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    const box = element.getBoundingClientRect();
    if (!own || box.width === 0 || element.closest('script, noscript, dialog:not([open])')) continue;
    const style = getComputedStyle(element);
    let behind = element;
    while (behind && channels(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const text = light(channels(element instanceof SVGElement ? style.fill : style.color));
    const back = light(channels(getComputedStyle(behind || document.body).backgroundColor));
    const ratio = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${element.tagName} "${element.textContent.trim().slice(0, 30)}" ${ratio.toFixed(2)}`);
  }
  return found;
});

async function looks(browser) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [360, 1440]) {
      for (const file of ['diff.html', 'inspect.html', 'validate.html', 'verify.html']) {
        const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
        const page = await open(context, file);
        await page.locator('.cell').nth(4).click();
        const where = `${file}, ${colorScheme}, ${width} px`;
        await check(`${where}: contrast`, async () => assert.deepEqual(await lowContrast(page), []));
        await check(`${where}: no sideways scrolling`, async () => {
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.ok(wide <= 0, `${wide} px too wide`);
        });
        if (screenshots) {
          fs.mkdirSync(screenshots, { recursive: true });
          await page.screenshot({ path: path.join(screenshots, `${file}-${colorScheme}-${width}.png`), fullPage: true });
        }
        await context.close();
      }
    }
  }
}

async function table(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await open(context, 'diff.html');
  await check('names are shown as text', async () => {
    await page.fill('#filter', 'odd');
    assert.deepEqual(await names(page), ['odd </script><script>alert(1)</script> & <b>name']);
  });
  await check('the filter takes several words', async () => {
    await page.fill('#filter', 'layers.4 IN_PROJ');
    assert.deepEqual(await names(page), ['decoder.layers.4.mixer.in_proj.weight']);
    assert.match(await page.textContent('#count'), /^1 of 187 tensors$/);
    await page.fill('#filter', '');
    assert.match(await page.textContent('#count'), /^187 tensors$/);
  });
  await check('chips filter by status', async () => {
    await page.getByRole('button', { name: /^different 4$/ }).click();
    assert.match(await page.textContent('#count'), /^4 of 187/);
    await page.getByRole('button', { name: /^extra 1$/ }).click();
    assert.match(await page.textContent('#count'), /^5 of 187/);
    await page.getByRole('button', { name: /^extra 1$/ }).click();
    await page.getByRole('button', { name: /^different 4$/ }).click();
  });
  await check('a column sorts down, up and back', async () => {
    const header = page.getByRole('columnheader', { name: 'max abs' });
    await header.getByRole('button').click();
    assert.equal(await header.getAttribute('aria-sort'), 'descending');
    assert.equal((await names(page))[0], 'decoder.layers.25.mixer.in_proj.weight');
    await header.getByRole('button').click();
    assert.equal(await header.getAttribute('aria-sort'), 'ascending');
    await header.getByRole('button').click();
    assert.equal(await header.getAttribute('aria-sort'), 'none');
    assert.equal((await names(page))[0], 'decoder.layers.0.mixer.in_proj.weight');
  });
  await check('details open by mouse and close', async () => {
    await page.fill('#filter', 'layers.4 in_proj');
    await page.locator('.body .row').first().click();
    assert.match(await page.textContent('#details'), /mp_rank_00\/model_optim_rng.pt:1048576/);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#details').evaluate(dialog => dialog.open), false);
    await page.fill('#filter', '');
  });
  await context.close();
}

async function keyboard(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await open(context, 'diff.html');
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.className);
  await check('everything is reached by Tab, in order', async () => {
    const order = [];
    for (let i = 0; i < 20; i++) {
      await page.keyboard.press('Tab');
      order.push(await focused());
    }
    const filter = order.indexOf('filter');
    assert.equal(order[0], 'skip');
    assert.match(order[1], /^cell/);
    assert.ok(filter > 1 && order.indexOf('body') > filter, order.join(' | '));
  });
  await check('arrow keys move in the map and Enter opens a layer', async () => {
    await page.locator('.cell').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    assert.match(await page.textContent('#layer h3'), /^Layer 2: 6 tensors/);
    assert.equal(await page.locator('#layer svg').count(), 6);
    await page.keyboard.press('End');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'E30');
  });
  await check('arrow keys move in the table and Enter shows details', async () => {
    await page.locator('#body').focus();
    await page.keyboard.press('End');
    assert.equal(await page.getAttribute('#body', 'aria-activedescendant'), 'row-186');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    assert.equal(await page.textContent('#details-title'), 'decoder.layers.0.mixer.conv1d.weight');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('#details').evaluate(dialog => dialog.open), false);
  });
  await context.close();
}

async function large(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await open(context, 'large.html');
  await check('100,000 rows: few are in the document', async () => {
    assert.match(await page.textContent('#count'), /^100,000 tensors$/);
    assert.ok(await page.locator('.body .row').count() < 60);
  });
  await check('100,000 rows: filtering and sorting are quick', async () => {
    const times = await page.evaluate(() => {
      const took = action => { const start = performance.now(); action(); return performance.now() - start; };
      const filter = document.getElementById('filter');
      return {
        filter: took(() => { filter.value = 'experts.799.'; filter.dispatchEvent(new Event('input')); }),
        clear: took(() => { filter.value = ''; filter.dispatchEvent(new Event('input')); }),
        sort: took(() => document.querySelectorAll('.head button')[4].click()),
      };
    });
    console.log(`100,000 rows: filter ${times.filter.toFixed(0)} ms, sort ${times.sort.toFixed(0)} ms`);
    assert.ok(times.filter < 500 && times.clear < 500 && times.sort < 1500, JSON.stringify(times));
  });
  await check('100,000 rows: the last one is reached', async () => {
    await page.locator('#body').focus();
    await page.keyboard.press('End');
    const all = await names(page);
    assert.equal(await page.getAttribute('#body', 'aria-activedescendant'), 'row-99999');
    assert.ok(all.length > 0);
  });
  await context.close();
}

async function layersWithoutTensors(browser) {
  const context = await browser.newContext();
  const page = await open(context, 'validate.html');
  await check('a layer of a report without tensors says what is said of it', async () => {
    await page.locator('.cell').nth(4).click();
    assert.equal(await page.textContent('#layer h3'), 'Layer 4: the pattern says attention');
    await page.locator('.cell').nth(3).click();
    assert.equal(await page.textContent('#layer h3'), 'Layer 3: nothing is said of it');
  });
  await context.close();
}

async function paper(browser) {
  const context = await browser.newContext();
  const page = await open(context, 'diff.html');
  await check('on paper every tensor is there', async () => {
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    assert.equal((await names(page)).length, 187);
    const pdf = await page.pdf({ format: 'A4' });
    assert.ok(pdf.length > 20000);
  });
  await context.close();
}

(async () => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  try {
    for (const part of [looks, table, keyboard, large, layersWithoutTensors, paper]) await part(browser);
  } finally {
    await browser.close();
  }
  problems.forEach(problem => console.error('FAILED ' + problem));
  console.log(`${checks} checks, ${problems.length} problems`);
  process.exitCode = problems.length === 0 ? 0 : 1;
})();
