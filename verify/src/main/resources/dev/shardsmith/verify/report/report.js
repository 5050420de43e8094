'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = id => document.getElementById(id);
  const SVG = 'http://www.w3.org/2000/svg';
  const STEPS = 6;
  /** Figures of a layer that are drawn at once; each histogram is dozens of elements. */
  const PLOTS = 48;
  const BARS = 64;
  /** Rows that go on paper, some forty pages. */
  const PAPER_ROWS = 2000;

  function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in made && name !== 'role') made[name] = value; else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  function shape(tag, attributes, text) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function show(id) { byId(id).hidden = false; }

  const grouped = count => count.toLocaleString('en-US');

  /** Text that may break after the separators of paths and names, without characters that copying would take along. */
  function breakable(tag, properties, text) {
    const made = element(tag, properties);
    text.split(/(?<=[._/])/).forEach((part, i) => made.append(...(i === 0 ? [part] : [document.createElement('wbr'), part])));
    return made;
  }

  /** Appends what a list is shown as, so many at a time, and a button for more below it. */
  function inPortions(into, items, portion, what, append) {
    const more = element('button', {type: 'button', className: 'more'});
    const onPaper = element('p', {className: 'paper'});
    const foot = element('div', {className: 'foot'}, more, onPaper);
    let at = 0;
    const next = () => {
      for (const item of items.slice(at, at + portion)) append(item);
      at = Math.min(items.length, at + portion);
      if (at === items.length) foot.remove();
      onPaper.textContent = `${grouped(at)} of ${grouped(items.length)} ${what} are shown.`;
      more.textContent = `Show ${grouped(Math.min(portion, items.length - at))} more of ${grouped(items.length)} ${what}`;
    };
    more.addEventListener('click', next);
    into.after(foot);
    next();
  }

  function bytes(count) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let unit = 0;
    let value = count;
    while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
    return (unit === 0 ? String(value) : value.toPrecision(value < 100 ? 3 : 4).replace(/\.?0+$/, '')) + ' ' + units[unit];
  }

  function number(value) {
    if (value === null || value === undefined) return '';
    if (typeof value === 'string') return value;
    if (value === 0) return '0';
    if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
    const size = Math.abs(value);
    return size >= 1e-3 && size < 1e6 ? String(Number(value.toPrecision(5))) : value.toExponential(3);
  }

  const formatted = (value, unit) => unit === 'bytes' ? bytes(value)
    : unit === 'count' && typeof value === 'number' ? grouped(value) : number(value);

  /** As formatted, and short enough for a column. */
  const brief = (value, unit) => unit === 'count' && value >= 1e6 ? value.toExponential(3) : formatted(value, unit);

  // ---- head, summary, findings

  byId('eyebrow').textContent = 'shardsmith ' + data.command;
  byId('verdict').textContent = data.verdict;
  byId('verdict').className = 'tone-' + data.tone;
  for (const [label, value] of data.subjects) {
    byId('subjects').append(element('dt', {textContent: label}), breakable('dd', {}, value));
  }
  for (const [label, value] of data.facts) {
    byId('facts').append(element('div', {}, element('dt', {textContent: label}), element('dd', {textContent: value})));
    show('summary');
  }
  for (const finding of data.findings) {
    const item = element('li', {className: 'finding ' + finding.severity});
    item.append(element('p', {className: 'code', textContent: finding.severity + ' · ' + finding.code
      + (finding.where ? ' · ' + finding.where : '')}));
    item.append(element('p', {textContent: finding.message}));
    if (finding.fix) item.append(element('p', {textContent: 'To do: ' + finding.fix}));
    byId('finding-list').append(item);
    show('findings');
  }
  byId('footer').textContent = data.footer;

  // ---- rows

  const NAME = 0, LAYER = 1, TYPE = 2, SHAPE = 3, BYTES = 4, STATUS = 5, VALUES = 6, HISTOGRAM = 7, DETAILS = 8;
  const rows = data.rows;
  const byLayer = new Map();
  rows.forEach((row, index) => {
    if (row[LAYER] < 0) return;
    if (!byLayer.has(row[LAYER])) byLayer.set(row[LAYER], []);
    byLayer.get(row[LAYER]).push(index);
  });

  function histogram(histogramData, label) {
    const [min, max, counts] = histogramData;
    const width = 320, height = 96, floor = 76;
    const most = Math.max(1, ...counts);
    const picture = shape('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
      'aria-label': `Histogram of ${label}: from ${number(min)} to ${number(max)}`});
    const step = width / counts.length;
    counts.forEach((count, i) => {
      if (count <= 0) return;
      const tall = Math.max(1, count / most * (floor - 4));
      const bar = shape('rect', {x: i * step + .5, y: floor - tall, width: Math.max(1, step - 1), height: tall});
      const from = min + (max - min) * i / counts.length, to = min + (max - min) * (i + 1) / counts.length;
      bar.append(shape('title', {}, `${number(from)} to ${number(to)}: ${grouped(count)}`));
      picture.append(bar);
    });
    picture.append(shape('line', {class: 'base', x1: 0, x2: width, y1: floor + .5, y2: floor + .5}));
    if (min < 0 && max > 0) {
      const zero = -min / (max - min) * width;
      picture.append(shape('line', {class: 'zero', x1: zero, x2: zero, y1: 2, y2: floor}));
      if (zero > 90 && zero < width - 90) picture.append(shape('text', {x: zero, y: height - 4, 'text-anchor': 'middle'}, '0'));
    }
    picture.append(shape('text', {x: 0, y: height - 4}, number(min)));
    picture.append(shape('text', {x: width, y: height - 4, 'text-anchor': 'end'}, number(max)));
    return picture;
  }

  // ---- layer map

  if (data.layers) {
    const {metric, scale, cells, kinds} = data.layers;
    const sizes = cells.map(cell => cell.value === 'infinite' ? Infinity : cell.value);
    const positive = sizes.filter(value => value > 0 && Number.isFinite(value));
    const low = Math.min(...positive), high = Math.max(...positive);
    const letter = scale === 'difference' ? 'd' : 's';
    const colour = step => step === 'x' ? 'dx' : letter + step;
    const stepOf = value => !(value > 0) ? 0
      : value === Infinity ? 'x'
      : high === low ? STEPS - 1
      : 1 + Math.min(STEPS - 2, Math.floor(Math.log(value / low) / Math.log(high / low) * (STEPS - 1)));
    show('layers');
    byId('layers-hint').textContent = `One cell a layer, in order. Colour: ${metric}. `;
    byId('layers-hint').append(element('span', {className: 'screen',
      textContent: `Choose a layer to see ${byLayer.size > 0 ? 'its tensors' : 'what is said of it'}; arrow keys move between layers.`}));
    const without = scale === 'difference' ? 'differs, but not by a number' : 'not finite';
    const none = scale === 'difference' ? 'no difference' : 'zero or not known';
    const figure = (cell, size) => cell.value === null ? metric + ' not known'
      : scale === 'difference' && size === 0 ? none
      : size === Infinity ? without
      : `${metric} ${number(cell.value)}`;
    const buttons = cells.map((cell, i) => {
      const kind = kinds.findIndex(known => known[0] === cell.symbol);
      const button = element('button', {type: 'button',
        className: `cell ${colour(stepOf(sizes[i]))} k${kind < 0 ? 4 : Math.min(4, kind)}`, tabIndex: i === 0 ? 0 : -1},
        element('b', {textContent: cell.symbol, 'aria-hidden': 'true'}),
        element('span', {textContent: cell.label, 'aria-hidden': 'true'}));
      button.setAttribute('aria-pressed', 'false');
      const said = `Layer ${cell.label}, ${kind < 0 ? cell.symbol : kinds[kind][1]}: ${figure(cell, sizes[i])}`
        + (cell.note ? ', ' + cell.note : '');
      button.append(element('span', {className: 'unseen', textContent: said}));
      button.title = said;
      button.addEventListener('click', () => choose(i));
      return button;
    });
    byId('map').append(...buttons);
    byId('map').addEventListener('keydown', event => {
      const at = buttons.indexOf(document.activeElement);
      const across = Math.max(1, buttons.findIndex(button => button.offsetTop > buttons[0].offsetTop));
      const move = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across, Home: -at,
        End: buttons.length - 1 - at}[event.key];
      if (at < 0 || move === undefined) return;
      event.preventDefault();
      const to = buttons[Math.min(buttons.length - 1, Math.max(0, at + move))];
      buttons.forEach(button => { button.tabIndex = button === to ? 0 : -1; });
      to.focus();
    });
    const legend = byId('legend');
    const swatch = (step, text) => element('span', {className: 'scale'}, element('i', {className: colour(step)}), text);
    if (positive.length > 0 && low === high) {
      legend.append(swatch(STEPS - 1, number(high) + ' ' + metric));
    } else if (positive.length > 0) {
      const swatches = element('span', {className: 'scale'}, number(low));
      for (let step = 1; step < STEPS; step++) swatches.append(element('i', {className: colour(step)}));
      swatches.append(number(high) + ' ' + metric);
      legend.append(swatches);
    }
    if (sizes.includes(Infinity)) legend.append(swatch('x', without));
    legend.append(swatch(0, none));
    kinds.forEach(([symbol, name], i) => legend.append(
      element('span', {className: 'key'}, element('i', {className: 'k' + Math.min(4, i)}), symbol + ' ' + name)));

    // Escape closes an open layer and goes back to its cell.
    byId('layers').addEventListener('keydown', event => {
      const open = buttons.findIndex(button => button.getAttribute('aria-pressed') === 'true');
      if (event.key !== 'Escape' || open < 0) return;
      choose(open);
      buttons[open].focus();
    });

    function choose(i) {
      const pressed = buttons[i].getAttribute('aria-pressed') === 'true';
      buttons.forEach((button, at) => {
        button.setAttribute('aria-pressed', String(at === i && !pressed));
        button.tabIndex = at === i ? 0 : -1;
      });
      const title = byId('layer-title'), plots = byId('plots');
      title.replaceChildren();
      plots.replaceChildren();
      byId('layer').querySelector('.foot')?.remove();
      if (pressed) return;
      const cell = cells[i];
      // Those that are not the same come first; else the order is the model's.
      const [ahead, rest] = parted(byLayer.get(cell.layer) || []);
      const tensors = ahead.concat(rest);
      const count = byLayer.size > 0 ? `${grouped(tensors.length)} tensor${tensors.length === 1 ? '' : 's'}` : '';
      const said = [count, sizes[i] > 0 && sizes[i] < Infinity ? figure(cell, sizes[i]) : '', cell.note].filter(Boolean);
      title.append(element('h3', {textContent: `Layer ${cell.label}: ${said.join(', ') || 'nothing is said of it'}`}));
      inPortions(plots, tensors, PLOTS, 'tensors', index => plots.append(plot(index)));
    }
  }

  /** Rows whose status is another than same, and the others. */
  function parted(indexes) {
    const differs = index => rows[index][STATUS] !== '' && rows[index][STATUS] !== 'same';
    return [indexes.filter(differs), indexes.filter(index => !differs(index))];
  }

  function plot(index) {
    const row = rows[index];
    const opener = breakable('button', {type: 'button', className: 'name'}, row[NAME]);
    opener.addEventListener('click', () => open(index));
    const figure = element('figure', {className: 'plot'}, opener);
    const figures = data.columns.map((column, i) => [column.label, row[VALUES][i], column.unit])
      .filter(([, value]) => value !== null).map(([label, value, unit]) => label + ' ' + formatted(value, unit));
    figure.append(element('p', {textContent: [row[STATUS], row[TYPE] + ' ' + row[SHAPE], ...figures].filter(Boolean).join(', ')}));
    if (row[HISTOGRAM]) figure.append(histogram(row[HISTOGRAM], row[NAME]));
    return figure;
  }

  // ---- details of one tensor

  function open(index) {
    const row = rows[index];
    byId('details-title').textContent = row[NAME];
    const body = byId('details-body');
    body.replaceChildren();
    if (row[HISTOGRAM]) body.append(histogram(row[HISTOGRAM], row[NAME]));
    const facts = [['type', row[TYPE]], ['shape', row[SHAPE]], ['bytes', bytes(row[BYTES]) + ' (' + grouped(row[BYTES]) + ')']];
    if (row[STATUS]) facts.unshift(['status', row[STATUS]]);
    data.columns.forEach((column, i) => {
      if (row[VALUES][i] !== null) facts.push([column.label, formatted(row[VALUES][i], column.unit)]);
    });
    const list = element('dl');
    for (const [label, value] of facts.concat(row[DETAILS] || [])) {
      list.append(element('dt', {textContent: label}), element('dd', {textContent: value}));
    }
    body.append(list);
    byId('details').showModal();
    // Enter closes; long details are still read from their beginning.
    byId('details-close').focus({preventScroll: true});
    byId('details').scrollTop = 0;
  }

  // ---- ranks

  const largest = Math.max(1, ...data.ranks.map(([, size]) => size));
  if (data.ranks.length > 0) show('ranks');
  inPortions(byId('rank-bars'), data.ranks, BARS, 'bars', ([label, size, note]) => {
    const bar = element('i');
    bar.style.width = (size / largest * 70).toFixed(2) + '%';
    byId('rank-bars').append(breakable('span', {className: 'label'}, label),
      element('span', {className: 'track'}, bar, bytes(size) + (note ? ', ' + note : '')));
  });

  // ---- tensor table: only the rows in sight are in the document

  const hasStatus = rows.some(row => row[STATUS]);
  /** So that layer 2 comes before layer 10. */
  const natural = text => text.replace(/\d+/g, digits => digits.padStart(12, '0'));
  const columns = [
    {label: 'name', width: 'minmax(14rem, 3fr)', key: row => natural(row[NAME]), text: row => row[NAME], name: true},
    {label: 'type', width: '4rem', key: row => row[TYPE], text: row => row[TYPE]},
    {label: 'shape', width: 'minmax(6.5rem, 1fr)', key: row => natural(row[SHAPE]), text: row => row[SHAPE]},
    {label: 'bytes', width: '5.5rem', key: row => row[BYTES], text: row => bytes(row[BYTES]), numeric: true},
  ];
  if (hasStatus) {
    columns.splice(1, 0, {label: 'status', width: '5.5rem', key: row => row[STATUS], text: row => row[STATUS], status: true});
  }
  data.columns.forEach((column, i) => columns.push({label: column.label, width: '5.5rem', numeric: true, figure: true,
    key: row => row[VALUES][i] === 'infinite' ? Infinity : row[VALUES][i], text: row => brief(row[VALUES][i], column.unit)}));

  const table = byId('table'), body = byId('body'), spacer = byId('spacer');
  const names = rows.map(row => row[NAME].toLowerCase());
  const paper = window.matchMedia('print');
  /** Height of the rows in sight, below the head. */
  const room = () => table.clientHeight - byId('head').offsetHeight;
  const chosen = new Set();
  let order = rows.map((_, index) => index);
  let shown = order;
  let sortedBy = -1, descending = false, active = 0, rowHeight = 36;
  const pool = [];

  function sort(column) {
    if (sortedBy === column && descending === !columns[column].numeric) {
      sortedBy = -1;
    } else {
      descending = sortedBy === column ? !descending : Boolean(columns[column].numeric);
      sortedBy = column;
    }
    [...byId('head').children].forEach((cell, i) => {
      cell.setAttribute('aria-sort', i !== sortedBy ? 'none' : descending ? 'descending' : 'ascending');
    });
    order = rows.map((_, index) => index);
    if (sortedBy >= 0) {
      const keys = rows.map(columns[sortedBy].key);
      const sign = descending ? -1 : 1;
      order.sort((a, b) => {
        const left = keys[a], right = keys[b];
        if (left === right) return a - b;
        if (left === null || left === '') return 1;
        if (right === null || right === '') return -1;
        return left < right ? -sign : sign;
      });
    }
    filter();
  }

  function filter() {
    const words = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = order.filter(index => (chosen.size === 0 || chosen.has(rows[index][STATUS]))
      && words.every(word => names[index].includes(word)));
    byId('count').textContent = (shown.length === rows.length ? '' : grouped(shown.length) + ' of ')
      + `${grouped(rows.length)} tensor${rows.length === 1 ? '' : 's'}`;
    table.setAttribute('aria-rowcount', shown.length + 1);
    active = 0;
    table.scrollTop = 0;
    draw();
  }

  function newRow() {
    const line = element('div', {className: 'row', role: 'row'});
    for (const column of columns) {
      const cell = element('span', {role: 'gridcell', className: column.name ? 'name' : column.numeric ? 'num' : ''});
      if (column.name) cell.append(element('bdi'));
      if (column.figure) cell.setAttribute('data-label', column.label);
      line.append(cell);
    }
    line.addEventListener('click', () => { activate(Number(line.dataset.at)); open(shown[active]); });
    return line;
  }

  function fill(line, at, index = shown[at]) {
    const row = rows[index];
    line.dataset.at = at;
    line.id = 'row-' + at;
    line.setAttribute('aria-rowindex', at + 2);
    line.classList.toggle('active', at === active);
    line.style.transform = `translateY(${at * rowHeight}px)`;
    columns.forEach((column, i) => {
      const cell = line.children[i];
      (column.name ? cell.firstChild : cell).textContent = column.text(row);
      if (column.status) cell.className = 'status-' + row[STATUS];
      if (column.name) cell.title = row[NAME];
    });
  }

  function draw() {
    if (paper.matches) return;
    const first = Math.max(0, Math.floor(table.scrollTop / rowHeight) - 4);
    const last = Math.min(shown.length, first + Math.ceil(table.clientHeight / rowHeight) + 8);
    spacer.style.height = shown.length * rowHeight + 'px';
    while (pool.length < last - first) { pool.push(newRow()); body.append(pool[pool.length - 1]); }
    pool.forEach((line, i) => {
      line.hidden = first + i >= last;
      line.style.display = line.hidden ? 'none' : '';
      if (!line.hidden) fill(line, first + i); else line.removeAttribute('id');
    });
    if (active >= first && active < last) table.setAttribute('aria-activedescendant', 'row-' + active);
    else table.removeAttribute('aria-activedescendant');
  }

  function activate(at) {
    active = Math.max(0, Math.min(shown.length - 1, at));
    const top = active * rowHeight;
    if (top < table.scrollTop) table.scrollTop = top;
    if (top + rowHeight > table.scrollTop + room()) table.scrollTop = top + rowHeight - room();
    draw();
  }

  /** Takes the height of a row from the style sheet: on a narrow screen it has several lines. */
  function measure() {
    if (paper.matches) return;
    const probe = newRow();
    probe.style.visibility = 'hidden';
    body.append(probe);
    const height = probe.getBoundingClientRect().height || rowHeight;
    probe.remove();
    const top = table.scrollTop / rowHeight;
    rowHeight = height;
    draw();
    table.scrollTop = top * rowHeight;
  }

  /** Draws rows one below the other, as there is no scrolling on paper. */
  function print() {
    const [ahead, rest] = shown.length > PAPER_ROWS ? parted(shown) : [[], shown];
    const printed = ahead.concat(rest).slice(0, PAPER_ROWS);
    while (pool.length < printed.length) { pool.push(newRow()); body.append(pool[pool.length - 1]); }
    pool.forEach((line, at) => {
      line.style.display = at < printed.length ? '' : 'none';
      if (at >= printed.length) return;
      fill(line, at, printed[at]);
      line.querySelector('.name').firstChild.replaceWith(breakable('bdi', {}, rows[printed[at]][NAME]));
    });
    const words = byId('filter').value.trim();
    byId('paper').textContent = [byId('count').textContent,
      words && `filtered by name: ${words}`,
      chosen.size > 0 && `filtered by status: ${[...chosen].join(', ')}`,
      sortedBy >= 0 && `sorted by ${columns[sortedBy].label}, ${descending ? 'descending' : 'ascending'}`,
      printed.length < shown.length && `printed are ${grouped(printed.length)}`
        + `${ahead.length > 0 ? ', first those that are not the same' : ''}; the file on a screen shows all`]
      .filter(Boolean).join('; ') + '.';
  }

  if (rows.length > 0) {
    show('tensors');
    table.style.setProperty('--columns', columns.map(column => column.width).join(' '));
    table.style.setProperty('--width', (12 + columns.length * 6.25) + 'rem');
    columns.forEach((column, i) => {
      const button = element('button', {type: 'button', textContent: column.label});
      button.addEventListener('click', () => sort(i));
      const cell = element('div', {role: 'columnheader', className: column.numeric ? 'num' : ''}, button,
        element('span', {className: 'paper', textContent: column.label}));
      cell.setAttribute('aria-sort', 'none');
      byId('head').append(cell);
    });
    if (hasStatus) {
      for (const status of [...new Set(rows.map(row => row[STATUS]))].filter(Boolean).sort()) {
        const count = rows.reduce((sum, row) => sum + (row[STATUS] === status ? 1 : 0), 0);
        const chip = element('button', {type: 'button', textContent: `${status} ${grouped(count)}`});
        chip.setAttribute('aria-pressed', 'false');
        chip.addEventListener('click', () => {
          if (!chosen.delete(status)) chosen.add(status);
          chip.setAttribute('aria-pressed', String(chosen.has(status)));
          filter();
        });
        byId('statuses').append(chip);
      }
    }
    byId('filter').addEventListener('input', filter);
    table.addEventListener('scroll', draw, {passive: true});
    table.addEventListener('keydown', event => {
      if (event.target !== table) return;
      const page = Math.max(1, Math.floor(room() / rowHeight) - 1);
      const to = {ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page,
        Home: 0, End: shown.length - 1}[event.key];
      if (to !== undefined) { event.preventDefault(); activate(to); }
      if (event.key === 'Enter' && shown.length > 0) { event.preventDefault(); open(shown[active]); }
    });
    new ResizeObserver(measure).observe(table);
    window.addEventListener('beforeprint', print);
    window.addEventListener('afterprint', () => { while (pool.length > 80) pool.pop().remove(); draw(); });
    filter();
  }

  // ---- state

  const FIRST = 40;
  if (data.state.length > 0) {
    show('state');
    byId('state-title').textContent = data.stateTitle;
    byId('state-hint').textContent = data.stateHint;
    const grid = byId('state-table');
    // A narrow screen shows the cells of a row below each other; the roles keep what they are.
    grid.classList.toggle('many', data.stateColumns.length > 2);
    for (const label of data.stateColumns) {
      byId('state-head').append(element('th', {scope: 'col', role: 'columnheader', textContent: label}));
    }
    const addRow = cells => byId('state-rows').append(element('tr', {role: 'row'},
      ...cells.map((text, i) => element('td', {role: 'cell', 'data-label': data.stateColumns[i]},
        ...(text ? [breakable('span', {}, text)] : [])))));
    data.state.slice(0, FIRST).forEach(addRow);
    const more = byId('state-more');
    more.hidden = data.state.length <= FIRST;
    more.textContent = `Show all ${grouped(data.state.length)}`;
    const rest = () => {
      if (!more.hidden) data.state.slice(FIRST).forEach(addRow);
      more.hidden = true;
    };
    more.addEventListener('click', rest);
    window.addEventListener('beforeprint', rest);
  }
})();
