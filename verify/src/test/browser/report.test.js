'use strict';
// Opens the sample reports in a real browser and uses them as people do: mouse, keyboard, both themes, two widths, paper.
// Usage: node report.test.js FOLDER-WITH-REPORTS [FOLDER-FOR-SCREENSHOTS]
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

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

/** What the rules of axe-core say is wrong for screen readers and keyboards. */
async function barriers(page) {
  // The page's own policy forbids scripts from elsewhere; this one is evaluated by the browser's tools.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations.map(found => `${found.id}: ${found.nodes.map(node => node.html.slice(0, 120)).slice(0, 3).join(' | ')}`);
}

/** Cells and labels whose text is cut off; names are cut at the left on purpose. */
const cutOff = page => page.$$eval('.body .row > :not(.name), .cell span:not(.unseen), .legend span, .plain th', cells => cells
  .filter(cell => cell.offsetParent && cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.textContent));

/** Rows of the tensor table that reach into the next one, or whose lines leave the row. */
const touching = page => page.$$eval('.body .row', rows => {
  const boxes = rows.filter(row => row.style.display !== 'none').map(row => ({
    top: row.getBoundingClientRect().top, bottom: row.getBoundingClientRect().bottom,
    inner: Math.max(...[...row.children].map(cell => cell.getBoundingClientRect().bottom)),
  })).sort((a, b) => a.top - b.top);
  return boxes.filter((box, i) => box.inner > box.bottom - 2 || (i > 0 && box.top < boxes[i - 1].bottom - 1)).length;
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
        await check(`${where}: no barriers`, async () => assert.deepEqual(await barriers(page), []));
        await check(`${where}: nothing is cut off`, async () => assert.deepEqual(await cutOff(page), []));
        await check(`${where}: rows keep apart`, async () => assert.equal(await touching(page), 0));
        await check(`${where}: no table is wider than its place`, async () => {
          const wide = await page.$eval('.scroller', box => box.scrollWidth - box.clientWidth);
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
  await check('numbers in names are sorted as numbers', async () => {
    const header = page.getByRole('columnheader', { name: 'name' });
    await page.fill('#filter', 'mixer.D');
    await header.getByRole('button').click();
    assert.deepEqual((await names(page)).slice(0, 3), [0, 1, 2].map(layer => `decoder.layers.${layer}.mixer.D`));
    await header.getByRole('button').click();
    assert.equal((await names(page))[0], 'decoder.layers.30.mixer.D');
    await header.getByRole('button').click();
    await page.fill('#filter', '');
  });
  await check('details open by mouse and close', async () => {
    await page.fill('#filter', 'layers.4 in_proj');
    await page.locator('.body .row').first().click();
    assert.match(await page.textContent('#details'), /mp_rank_00\/model_optim_rng.pt:1048576/);
    await page.setViewportSize({ width: 1280, height: 200 });
    await page.keyboard.press('Escape');
    await page.locator('.body .row').first().click();
    assert.equal(await page.locator('#details').evaluate(dialog => dialog.scrollTop), 0);
    await page.setViewportSize({ width: 1280, height: 900 });
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
    assert.ok(filter > 1 && order.indexOf('table') > filter, order.join(' | '));
  });
  await check('arrow keys move in the map and Enter opens a layer', async () => {
    await page.locator('.cell').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    assert.match(await page.textContent('#layer h3'), /^Layer 2: 6 tensors/);
    assert.equal(await page.locator('#layer svg').count(), 6);
    await page.keyboard.press('End');
    assert.equal(await page.evaluate(() => document.activeElement.title.slice(0, 8)), 'Layer 30');
    await page.keyboard.press('Space');
    assert.match(await page.textContent('#layer h3'), /^Layer 30: 6 tensors/);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#layer h3').count(), 0);
    assert.equal(await page.evaluate(() => document.activeElement.title.slice(0, 8)), 'Layer 30');
  });
  await check('the ring around what has the focus is seen whole', async () => {
    for (const selector of ['.cell', '#filter', '.chips button', '.head button', '#table']) {
      await page.locator(selector).first().focus();
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('Tab');
      const hidden = await page.evaluate(() => {
        const focused = document.activeElement, style = getComputedStyle(focused), box = focused.getBoundingClientRect();
        const reach = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
        if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) return 'no ring';
        for (let around = focused.parentElement; around; around = around.parentElement) {
          if (getComputedStyle(around).overflowX === 'visible') continue;
          const edge = around.getBoundingClientRect();
          if (box.left - reach < edge.left || box.top - reach < edge.top || box.bottom + reach > edge.bottom) return 'cut by ' + around.className;
        }
        return '';
      });
      assert.equal(hidden, '', selector);
    }
  });
  await check('arrow keys move in the table and Enter shows details', async () => {
    await page.locator('#table').focus();
    await page.keyboard.press('End');
    assert.equal(await page.getAttribute('#table', 'aria-activedescendant'), 'row-186');
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
    await page.locator('#table').focus();
    await page.keyboard.press('End');
    const all = await names(page);
    assert.equal(await page.getAttribute('#table', 'aria-activedescendant'), 'row-99999');
    assert.ok(all.length > 0);
  });
  await context.close();
}

async function manyTensorsInALayer(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await open(context, 'large.html');
  await check('a layer of 800 tensors shows some, first those that differ', async () => {
    await page.locator('.cell').nth(1).click();
    assert.match(await page.textContent('#layer h3'), /^Layer 1: 800 tensors/);
    assert.equal(await page.locator('.plot').count(), 48);
    assert.match(await page.locator('.plot').first().textContent(), /experts\.199\..*different/);
    await page.getByRole('button', { name: 'Show 48 more of 800 tensors' }).click();
    assert.equal(await page.locator('.plot').count(), 96);
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
  await check('a layer that differs without a number has a look of its own, and the legend says so', async () => {
    const looks = await page.$$eval('.cell', cells => cells.map(cell => getComputedStyle(cell).background));
    assert.notEqual(looks[4], looks[3]);
    assert.match(looks[4], /gradient/);
    assert.equal(await page.locator('.cell').nth(4).getAttribute('title'),
      'Layer 4, Mamba: differs, but not by a number, the pattern says attention');
    assert.match(await page.textContent('#legend'), /differs, but not by a number/);
  });
  await context.close();
}

/** Prints as the browser does: with the events, and in the width of a sheet. */
async function onPaper(page) {
  await page.setViewportSize({ width: 700, height: 1000 });
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
}

async function paper(browser) {
  const context = await browser.newContext({ colorScheme: 'dark' });
  const page = await open(context, 'diff.html');
  await onPaper(page);
  await check('on paper every tensor is there', async () => assert.equal((await names(page)).length, 187));
  await check('on paper nothing is cut off or laid over another', async () => {
    const faults = await page.evaluate(() => {
      const wide = document.documentElement.clientWidth;
      const cut = [...document.querySelectorAll('.row > *, .plain td, .facts dd, .legend span')]
        .filter(cell => cell.offsetParent && (cell.getBoundingClientRect().right > wide + 1 || cell.scrollWidth > cell.clientWidth + 1));
      const bottom = Math.max(...[...document.querySelectorAll('.body .row')].map(row => row.getBoundingClientRect().bottom));
      const below = document.getElementById('footer').getBoundingClientRect().top;
      return cut.map(cell => cell.textContent.slice(0, 60)).concat(below < bottom ? ['the footer lies on the rows'] : []);
    });
    assert.deepEqual(faults, []);
  });
  await check('on paper the colours stay and the dark theme does not', async () => {
    const look = await page.evaluate(() => ({
      cells: getComputedStyle(document.querySelector('.cell')).printColorAdjust,
      page: getComputedStyle(document.body).backgroundColor,
      ink: getComputedStyle(document.body).color,
      head: getComputedStyle(document.querySelector('.head')).display,
      titles: [...document.querySelectorAll('.head .row > *')].map(cell => cell.innerText.trim()).slice(0, 2),
      controls: [...document.querySelectorAll('.head button')].filter(button => button.offsetParent).length,
    }));
    assert.deepEqual(look, { cells: 'exact', page: 'rgb(255, 255, 255)', ink: 'rgb(20, 32, 43)', head: 'table-header-group',
      titles: ['name', 'status'], controls: 0 });
  });
  await check('paper says what was filtered and sorted', async () => {
    await page.evaluate(() => {
      const filter = document.getElementById('filter');
      filter.value = 'in_proj';
      filter.dispatchEvent(new Event('input'));
      [...document.querySelectorAll('.head button')].find(button => button.textContent === 'max abs').click();
      window.dispatchEvent(new Event('beforeprint'));
    });
    assert.equal(await page.textContent('#paper'),
      '31 of 187 tensors; filtered by name: in_proj; sorted by max abs, descending.');
    assert.equal((await names(page)).length, 31);
  });
  await check('the screen is as before', async () => {
    await page.emulateMedia({ media: 'screen' });
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    assert.equal(await touching(page), 0);
    assert.ok(await page.locator('#paper').isHidden());
  });
  await context.close();

  const other = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const large = await open(other, 'large.html');
  await onPaper(large);
  await check('of 100,000 tensors 2,000 are printed, first those that differ, and the page says so', async () => {
    const printed = await names(large);
    assert.equal(printed.length, 2000);
    assert.equal(printed[0], 'decoder.layers.1.mlp.experts.local_experts.199.linear_fc1.weight');
    assert.equal(await large.textContent('#paper'),
      '100,000 tensors; printed are 2,000, first those that are not the same; the file on a screen shows all.');
  });
  await other.close();

  const third = await browser.newContext();
  const options = await open(third, 'validate.html');
  await onPaper(options);
  await check('on paper all options are there', async () => {
    assert.equal(await options.locator('#state-rows tr').count(), 60);
    const pages = String(await options.pdf({ format: 'A4' })).match(/\/Type \/Page\b/g).length;
    assert.ok(pages >= 2 && pages <= 4, `${pages} pages`);
  });
  await third.close();
}

(async () => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  try {
    for (const part of [looks, table, keyboard, large, manyTensorsInALayer, layersWithoutTensors, paper]) await part(browser);
  } finally {
    await browser.close();
  }
  problems.forEach(problem => console.error('FAILED ' + problem));
  console.log(`${checks} checks, ${problems.length} problems`);
  process.exitCode = problems.length === 0 ? 0 : 1;
})();
