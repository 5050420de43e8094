'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = id => document.getElementById(id);
  const SVG = 'http://www.w3.org/2000/svg';
  const STEPS = 6;

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
    : unit === 'count' && typeof value === 'number' ? value.toLocaleString('en-US') : number(value);

  // ---- head, summary, findings

  byId('eyebrow').textContent = 'shardsmith ' + data.command;
  byId('verdict').textContent = data.verdict;
  byId('verdict').className = 'tone-' + data.tone;
  for (const [label, value] of data.subjects) {
    byId('subjects').append(element('dt', {textContent: label}), element('dd', {textContent: value}));
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
    const width = 320, height = 96, floor = 78;
    const most = Math.max(1, ...counts);
    const picture = shape('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
      'aria-label': `Histogram of ${label}: from ${number(min)} to ${number(max)}`});
    const step = width / counts.length;
    counts.forEach((count, i) => {
      if (count <= 0) return;
      const tall = Math.max(1, count / most * (floor - 4));
      picture.append(shape('rect', {x: i * step + .5, y: floor - tall, width: Math.max(1, step - 1), height: tall}));
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
    const stepOf = value => !(value > 0) ? 0
      : high === low ? STEPS - 1
      : 1 + Math.min(STEPS - 2, Math.floor(Math.log(value / low) / Math.log(high / low) * (STEPS - 1)));
    show('layers');
    byId('layers-hint').textContent = 'One cell a layer, in order. Colour: ' + metric
      + `. Choose a layer to see ${byLayer.size > 0 ? 'its tensors' : 'what is said of it'}; arrow keys move between layers.`;
    const buttons = cells.map((cell, i) => {
      const kind = kinds.findIndex(known => known[0] === cell.symbol);
      const button = element('button', {type: 'button',
        className: `cell ${letter}${stepOf(sizes[i])} k${kind < 0 ? 4 : Math.min(4, kind)}`, tabIndex: i === 0 ? 0 : -1},
        element('b', {textContent: cell.symbol}), element('span', {textContent: cell.label}));
      const value = cell.value === null ? 'not known' : number(cell.value);
      button.setAttribute('aria-pressed', 'false');
      button.setAttribute('aria-label', `Layer ${cell.label}, ${kind < 0 ? cell.symbol : kinds[kind][1]}: ${metric} ${value}`
        + (cell.note ? ', ' + cell.note : ''));
      button.title = button.getAttribute('aria-label');
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
    if (positive.length > 0 && low === high) {
      legend.append(element('span', {className: 'scale'}, element('i', {className: letter + (STEPS - 1)}), number(high) + ' ' + metric));
    } else if (positive.length > 0) {
      const swatches = element('span', {className: 'scale'}, number(low));
      for (let step = 1; step < STEPS; step++) swatches.append(element('i', {className: letter + step}));
      swatches.append(number(high) + ' ' + metric);
      legend.append(swatches);
    }
    const none = element('span', {className: 'scale'}, element('i', {className: letter + '0'}),
      scale === 'difference' ? 'no difference' : 'zero or not known');
    legend.append(none);
    kinds.forEach(([symbol, name], i) => legend.append(
      element('span', {className: 'key'}, element('i', {className: 'k' + Math.min(4, i)}), symbol + ' ' + name)));

    function choose(i) {
      const pressed = buttons[i].getAttribute('aria-pressed') === 'true';
      buttons.forEach((button, at) => {
        button.setAttribute('aria-pressed', String(at === i && !pressed));
        button.tabIndex = at === i ? 0 : -1;
      });
      const panel = byId('layer');
      panel.hidden = pressed;
      panel.replaceChildren();
      if (pressed) return;
      const cell = cells[i];
      const tensors = byLayer.get(cell.layer) || [];
      const count = byLayer.size > 0 ? `${tensors.length} tensor${tensors.length === 1 ? '' : 's'}` : '';
      const said = [count, cell.note || (count ? '' : 'nothing is said of it')].filter(Boolean).join(', ');
      panel.append(element('h3', {textContent: `Layer ${cell.label}: ${said}`}));
      const plots = element('div', {className: 'plots'});
      for (const index of tensors) plots.append(plot(index));
      panel.append(plots);
    }
  }

  function plot(index) {
    const row = rows[index];
    const opener = element('button', {type: 'button', className: 'name', textContent: row[NAME]});
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
    const facts = [['Type', row[TYPE]], ['Shape', row[SHAPE]], ['Bytes', bytes(row[BYTES]) + ' (' + row[BYTES].toLocaleString('en-US') + ')']];
    if (row[STATUS]) facts.unshift(['Status', row[STATUS]]);
    data.columns.forEach((column, i) => {
      if (row[VALUES][i] !== null) facts.push([column.label, formatted(row[VALUES][i], column.unit)]);
    });
    const list = element('dl');
    for (const [label, value] of facts.concat(row[DETAILS] || [])) {
      list.append(element('dt', {textContent: label}), element('dd', {textContent: value}));
    }
    body.append(list);
    byId('details').showModal();
    byId('details-close').focus();
  }

  // ---- ranks

  const largest = Math.max(1, ...data.ranks.map(([, size]) => size));
  for (const [label, size, note] of data.ranks) {
    show('ranks');
    const bar = element('i');
    bar.style.width = `calc(${(size / largest * 70).toFixed(2)}% )`;
    byId('rank-bars').append(element('span', {className: 'label', textContent: label}),
      element('span', {className: 'track'}, bar, bytes(size) + (note ? ', ' + note : '')));
  }

  // ---- tensor table: only the rows in sight are in the document

  const hasStatus = rows.some(row => row[STATUS]);
  const columns = [
    {label: 'Name', width: 'minmax(14rem, 3fr)', key: row => row[NAME], text: row => row[NAME], name: true},
    {label: 'Type', width: '4rem', key: row => row[TYPE], text: row => row[TYPE]},
    {label: 'Shape', width: 'minmax(6.5rem, 1fr)', key: row => row[SHAPE], text: row => row[SHAPE]},
    {label: 'Bytes', width: '5.5rem', key: row => row[BYTES], text: row => bytes(row[BYTES]), numeric: true},
  ];
  if (hasStatus) {
    columns.splice(1, 0, {label: 'Status', width: '5.5rem', key: row => row[STATUS], text: row => row[STATUS], status: true});
  }
  data.columns.forEach((column, i) => columns.push({label: column.label, width: '5.5rem', numeric: true, figure: true,
    key: row => row[VALUES][i] === 'infinite' ? Infinity : row[VALUES][i], text: row => formatted(row[VALUES][i], column.unit)}));

  const table = byId('table'), body = byId('body'), spacer = byId('spacer');
  const names = rows.map(row => row[NAME].toLowerCase());
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
    byId('count').textContent = shown.length === rows.length ? `${rows.length.toLocaleString('en-US')} tensors`
      : `${shown.length.toLocaleString('en-US')} of ${rows.length.toLocaleString('en-US')} tensors`;
    table.setAttribute('aria-rowcount', shown.length + 1);
    active = 0;
    body.scrollTop = 0;
    draw();
  }

  function newRow() {
    const line = element('div', {className: 'row', role: 'row'});
    for (const column of columns) {
      const cell = element('span', {role: 'cell', className: column.name ? 'name' : column.numeric ? 'num' : ''});
      if (column.name) cell.append(element('bdi'));
      if (column.figure) cell.setAttribute('data-label', column.label);
      line.append(cell);
    }
    line.addEventListener('click', () => { activate(Number(line.dataset.at)); open(shown[active]); });
    return line;
  }

  function fill(line, at) {
    const row = rows[shown[at]];
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
    const first = Math.max(0, Math.floor(body.scrollTop / rowHeight) - 4);
    const last = Math.min(shown.length, first + Math.ceil(body.clientHeight / rowHeight) + 8);
    spacer.style.height = shown.length * rowHeight + 'px';
    while (pool.length < last - first) { pool.push(newRow()); body.append(pool[pool.length - 1]); }
    pool.forEach((line, i) => {
      line.hidden = first + i >= last;
      line.style.display = line.hidden ? 'none' : '';
      if (!line.hidden) fill(line, first + i); else line.removeAttribute('id');
    });
    if (shown.length > 0) body.setAttribute('aria-activedescendant', 'row-' + active);
    else body.removeAttribute('aria-activedescendant');
  }

  function activate(at) {
    active = Math.max(0, Math.min(shown.length - 1, at));
    const top = active * rowHeight;
    if (top < body.scrollTop) body.scrollTop = top;
    if (top + rowHeight > body.scrollTop + body.clientHeight) body.scrollTop = top + rowHeight - body.clientHeight;
    draw();
  }

  function measure() {
    const probe = newRow();
    probe.style.visibility = 'hidden';
    body.append(probe);
    rowHeight = probe.getBoundingClientRect().height || rowHeight;
    probe.remove();
    draw();
  }

  if (rows.length > 0) {
    show('tensors');
    table.style.setProperty('--columns', columns.map(column => column.width).join(' '));
    table.style.setProperty('--width', (12 + columns.length * 6.25) + 'rem');
    // Below each name there is room for type, shape and bytes, and for two or three figures a line.
    table.style.setProperty('--narrow-height', (3.75 + 1.4 * Math.ceil(data.columns.length / 2.5)) + 'rem');
    columns.forEach((column, i) => {
      const button = element('button', {type: 'button', textContent: column.label});
      button.addEventListener('click', () => sort(i));
      const cell = element('div', {role: 'columnheader', className: column.numeric ? 'num' : ''}, button);
      cell.setAttribute('aria-sort', 'none');
      byId('head').append(cell);
    });
    if (hasStatus) {
      for (const status of [...new Set(rows.map(row => row[STATUS]))].filter(Boolean).sort()) {
        const count = rows.reduce((sum, row) => sum + (row[STATUS] === status ? 1 : 0), 0);
        const chip = element('button', {type: 'button', textContent: `${status} ${count.toLocaleString('en-US')}`});
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
    body.addEventListener('scroll', draw, {passive: true});
    body.addEventListener('keydown', event => {
      const page = Math.max(1, Math.floor(body.clientHeight / rowHeight) - 1);
      const to = {ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page,
        Home: 0, End: shown.length - 1}[event.key];
      if (to !== undefined) { event.preventDefault(); activate(to); }
      if (event.key === 'Enter' && shown.length > 0) { event.preventDefault(); open(shown[active]); }
    });
    new ResizeObserver(measure).observe(body);
    // On paper there is no scrolling: the first rows are drawn one below the other.
    window.addEventListener('beforeprint', () => {
      for (let at = pool.length; at < Math.min(shown.length, 2000); at++) { pool.push(newRow()); body.append(pool[at]); }
      pool.forEach((line, at) => {
        line.style.display = at < shown.length ? '' : 'none';
        if (at < shown.length) { fill(line, at); line.style.transform = ''; }
      });
    });
    window.addEventListener('afterprint', () => { while (pool.length > 80) pool.pop().remove(); draw(); });
    filter();
  }

  // ---- state

  const FIRST = 40;
  function stateRows(from, to) {
    for (const cells of data.state.slice(from, to)) {
      byId('state-rows').append(element('tr', {}, ...cells.map(text => element('td', {textContent: text}))));
    }
  }
  if (data.state.length > 0) {
    show('state');
    byId('state-title').textContent = data.stateTitle;
    byId('state-hint').textContent = data.stateHint;
    for (const label of data.stateColumns) byId('state-head').append(element('th', {scope: 'col', textContent: label}));
    stateRows(0, FIRST);
    const more = byId('state-more');
    more.hidden = data.state.length <= FIRST;
    more.textContent = `Show all ${data.state.length.toLocaleString('en-US')}`;
    more.addEventListener('click', () => { stateRows(FIRST, data.state.length); more.hidden = true; });
  }
})();
