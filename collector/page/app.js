// What both pages share. Text of runs reaches the document by textContent only.
'use strict';

/** An element: el('td', {class: 'num'}, 'text', child). Attributes are ours, never a run's. */
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
  }
  for (const child of children) {
    if (child === undefined || child === null) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

const byId = (id) => document.getElementById(id);

function fill(id, ...children) { byId(id).replaceChildren(...children.filter((c) => c)); }

function setText(id, text) {
  const node = byId(id);
  const shown = text === undefined || text === null ? '' : String(text);
  if (node.textContent !== shown) node.textContent = shown;
  return node;
}

async function fetchJson(path) {
  const answer = await fetch(path, {credentials: 'same-origin'});
  if (!answer.ok) throw new Error(await reasonOf(answer));
  return answer.json();
}

async function reasonOf(answer) {
  if (answer.status === 401) return 'The collector asks for its read token.';
  try { return (await answer.json()).sentence; } catch { return 'The collector answered ' + answer.status + '.'; }
}

function isObject(value) { return value !== null && typeof value === 'object' && !Array.isArray(value); }
/** Within 0 and what is counted exactly: sums of a run's numbers stay finite. */
function num(value) { return typeof value === 'number' && value > 0 ? Math.min(value, Number.MAX_SAFE_INTEGER) : 0; }
function str(value) { return typeof value === 'string' ? value : ''; }

function bytes(count) {
  if (typeof count !== 'number') return '';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = num(count), unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; ++unit; }
  return (unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)) + ' ' + units[unit];
}

function count(value) {
  const n = num(value);
  if (n >= 1e6) return (n / 1e6).toFixed(2) + ' M';
  if (n >= 1e4) return (n / 1e3).toFixed(1) + ' k';
  return n.toLocaleString('en');
}

function money(value, unpriced) {
  const n = num(value);
  if (unpriced && n === 0) return 'not priced';
  const text = '$' + n.toFixed(n > 0 && n < 1 ? 4 : 2);
  return unpriced ? '≥ ' + text : text;
}

function duration(ms) {
  if (typeof ms !== 'number' || !Number.isFinite(ms)) return '';
  if (ms < 1000) return Math.round(ms) + ' ms';
  const s = ms / 1000;
  if (s < 60) return s.toFixed(1) + ' s';
  const whole = Math.round(s);
  if (s < 3600) return Math.floor(whole / 60) + ' min ' + (whole % 60) + ' s';
  return Math.floor(whole / 3600) + ' h ' + Math.floor(whole % 3600 / 60) + ' min';
}

function age(time) {
  const ms = Date.now() - Date.parse(time);
  if (!Number.isFinite(ms)) return '';
  if (ms < 60e3) return 'just now';
  if (ms < 3600e3) return Math.floor(ms / 60e3) + ' min ago';
  if (ms < 48 * 3600e3) return Math.floor(ms / 3600e3) + ' h ago';
  return Math.floor(ms / 86400e3) + ' days ago';
}

/** The local time, with the exact one to hover on. */
function when(time) {
  const read = new Date(time);
  if (!time || Number.isNaN(read.getTime())) return '';
  return el('time', {datetime: read.toISOString(), title: read.toISOString()}, read.toLocaleString());
}

/** The word and the colour of a run: state, outcome. Colour never stands alone. */
function statusOf(run) {
  const outcome = isObject(run.summary) && isObject(run.summary.outcome) ? run.summary.outcome : {};
  const kind = str(outcome.class) || str(outcome.cls);
  const reason = str(outcome.reason).replaceAll('_', ' ');
  if (run.fault) return {tone: 'warn', word: 'unreadable', reason: str(run.fault)};
  if (run.state === 'lost') return {tone: 'warn', word: 'lost', reason: 'started, never ended'};
  if (run.state === 'running' && !kind) return {tone: 'live', word: 'running', reason: ''};
  if (kind === 'ok') return {tone: 'good', word: 'finished ok', reason};
  if (!kind) return {tone: '', word: 'finished', reason};
  return {tone: 'bad', word: 'failed: ' + (kind === 'stopped' ? 'stopped' : kind), reason};
}

/** A sentence of the report: it comes without capital and stop. */
function sentence(text) {
  const words = str(text);
  if (!words) return '';
  return words[0].toUpperCase() + words.slice(1) + (/[.!?]$/.test(words) ? '' : '.');
}

function baseName(path) { return str(path).split('/').pop(); }

/** Calls `load` now and again: soon while `busy()` says so, else seldom; pauses when hidden. */
function keepFresh(load, busy) {
  let timer = 0;
  const turn = async () => {
    clearTimeout(timer);
    try {
      await load();
      byId('trouble').hidden = true;
      setText('freshness', busy() ? 'live' : 'up to date');
    } catch (failure) {
      setText('trouble', failure.message || 'The collector cannot be reached.').hidden = false;
      setText('freshness', 'not up to date');
    }
    if (!document.hidden) timer = setTimeout(turn, busy() ? 2000 : 15000);
  };
  document.addEventListener('visibilitychange', () => { if (!document.hidden) turn(); });
  return turn();
}
