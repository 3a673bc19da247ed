// One run: verdict, facts, timeline, calls, memory, artifacts, output, patch, integrity.
'use strict';

const kShown = 400;                // events in the table before "show all"
const kTail = 64 * 1024;           // bytes of an output that are fetched
const kPatch = 512 * 1024;         // bytes of the patch that are fetched
const page = {run: null, events: [], all: false, fetched: new Map()};
const runId = location.pathname.split('/').pop();

const fact = (name, value, wide) =>
  value === '' || value === null || value === undefined ? null
    : el('div', wide ? {class: 'row'} : {}, el('dt', {}, name), el('dd', {}, value));

function table(heads, rows) {
  return el('table', {}, el('thead', {}, el('tr', {}, ...heads.map((h) =>
    el('th', {scope: 'col', class: h.num ? 'num' : null}, h.name)))), el('tbody', {}, ...rows));
}

function blobPath(file) {
  return '/v1/runs/' + page.run.run_id + '/attempts/' + page.run.attempt + '/blobs/' + file.sha256;
}

function showVerdict() {
  const run = page.run, status = statusOf(run);
  // The journal is believed, not the report: it is chained and was here before.
  const outcome = isObject(run.summary.outcome) ? run.summary.outcome : {};
  const end = page.events.find((e) => e.type === 'run.finished' && isObject(e.data));
  const told = end && isObject(end.data.outcome) ? end.data.outcome : {};
  byId('verdict').className = 'verdict ' + status.tone;
  byId('verdict-word').className = 'chip ' + status.tone;
  setText('verdict-word', status.word);
  setText('verdict-reason', [status.reason, str(outcome.confidence)].filter((t) => t).join(' · '));
  const silent = run.state === 'running' && !outcome.sentence;
  setText('verdict-sentence', sentence(run.sentence) || sentence(outcome.sentence) ||
    (silent ? 'The agent is at work. Last event: ' + (run.summary.last_type || 'none yet') + '.' : ''));
  const advice = setText('verdict-advice', str(outcome.advice) && 'What to do: ' + sentence(outcome.advice));
  advice.hidden = !outcome.advice;
  const evidence = Array.isArray(told.evidence) ? told.evidence : [];
  fill('verdict-evidence', ...evidence.slice(0, 50).map((item) => el('li', {}, evidenceText(item))));
}

function evidenceText(item) {
  if (!isObject(item)) return String(item);
  const words = [item.witness, item.what, item.value].filter((w) => w !== undefined && w !== null && w !== '')
    .map((w) => typeof w === 'object' ? JSON.stringify(w) : String(w));
  const text = words.join(': ') || JSON.stringify(item);
  return item.seq ? text + ' (event ' + item.seq + ')' : text;
}

function showFacts() {
  const run = page.run, s = run.summary;
  const end = Date.parse(s.finished || run.seen), begin = Date.parse(s.started || run.opened);
  setText('name', baseName(s.job) || 'Run ' + run.run_id);
  document.title = statusOf(run).word + ' · ' + (baseName(s.job) || run.run_id) + ' · Warder';
  fill('facts',
    fact('Run', el('code', {}, run.run_id)), fact('Attempt', run.attempt),
    fact('Job', str(s.job)), fact('Agent', str(s.preset)), fact('Policy', str(s.policy)),
    fact('Started', when(s.started || run.opened)), fact('Lasted', duration(end - begin)),
    fact('LLM calls', count(s.calls) + (num(s.errors) ? ' (' + count(s.errors) + ' failed)' : '')),
    fact('Tokens', count(s.input_tokens) + ' in, ' + count(s.output_tokens) + ' out'),
    fact('Cost', num(s.calls) ? money(s.cost_usd, s.unpriced) : ''),
    fact('Denied', count(s.denials)),
    run.report_fault ? fact('The report is not believed', str(run.report_fault), true) : null,
    fact('Results', run.complete ? 'complete, acknowledged' : run.report ? 'report here, rest still missing' : 'not yet delivered'),
    ...showBox());
}

/** What the start record says of the box: its rules and the walls that it lacks. */
function showBox() {
  const first = page.events.length && page.events[0].type === 'run.started' ? page.events[0].data : {};
  const list = (items) => el('ul', {class: 'plain'}, ...items.slice(0, 50).map((item) => el('li', {}, String(item))));
  const walls = Array.isArray(first.walls_missing) ? first.walls_missing : [];
  const rules = isObject(first.policy) && Array.isArray(first.policy.rules) ? first.policy.rules : [];
  return [fact('Network', str(first.mechanism)),
    walls.length ? fact('Walls that are missing', list(walls), true) : null,
    rules.length ? fact('Rules', list(rules), true) : null];
}

function showEvents() {
  const kind = byId('kind').value, word = byId('search').value.toLowerCase();
  const fits = (e) => e.type.startsWith(kind) && (!word || JSON.stringify(e).toLowerCase().includes(word));
  const found = page.events.filter(fits);
  const shown = page.all ? found : found.slice(-kShown);
  const start = page.events.length ? Date.parse(page.events[0].time) : 0;
  fill('events', ...shown.map((e) => eventRow(e, start)));
  setText('shown', shown.length < found.length ? `the last ${shown.length} of ${found.length}` : found.length + ' events');
  byId('all-events').hidden = shown.length === found.length;
  const axis = axisOf(page.events);
  byId('axis').hidden = !axis;
  if (axis) fill('axis', axis);
}

function showCalls() {
  const calls = page.events.filter((e) => e.type === 'llm.call' && isObject(e.data));
  const models = new Map();
  for (const {data: d} of calls) {
    const sum = models.get(str(d.model)) || {calls: 0, errors: 0, input: 0, output: 0, read: 0, write: 0, cost: 0, unpriced: false};
    sum.calls += 1; sum.errors += num(d.status) < 200 || num(d.status) > 299 ? 1 : 0;
    sum.input += num(d.input_tokens); sum.output += num(d.output_tokens);
    sum.read += num(d.cache_read_tokens); sum.write += num(d.cache_write_tokens);
    sum.cost += num(d.cost_usd); sum.unpriced = sum.unpriced || d.priced === false;
    models.set(str(d.model), sum);
  }
  const n = (value) => el('td', {class: 'num'}, value);
  const numeric = (...names) => names.map((name) => ({name, num: true}));
  if (calls.length === 0) {
    byId('usage').className = 'empty';
    return fill('usage', 'No call to a model has been seen.');
  }
  byId('usage').className = 'frame scroll';
  fill('usage', table([{name: 'Model'}, ...numeric('Calls', 'Failed', 'Input', 'Output', 'Cache read', 'Cache write', 'Cost')],
    [...models].map(([model, u]) => el('tr', {}, el('td', {class: 'mono'}, model || 'unknown'), n(u.calls), n(u.errors),
      n(count(u.input)), n(count(u.output)), n(count(u.read)), n(count(u.write)), n(money(u.cost, u.unpriced))))));
  const claim = !page.run.report_fault && isObject(page.run.report) && isObject(page.run.report.agent_claim) ? page.run.report.agent_claim : null;
  if (claim) byId('usage').append(el('p', {class: 'note'}, 'Counted by the broker. The agent itself claims ' +
    [claim.num_turns ? claim.num_turns + ' turns' : '', typeof claim.total_cost_usd === 'number' ? money(claim.total_cost_usd) : '']
      .filter((t) => t).join(', ') + '.'));
  const start = Date.parse(page.events[0].time);
  fill('call-list', table([{name: 'After', num: true}, {name: 'Request'}, {name: 'Model'}, ...numeric('Status', 'In', 'Out', 'First byte', 'Took', 'Cost')],
    calls.slice(-kShown).map((e) => { const d = e.data; return el('tr', {},
      n(duration(Date.parse(e.time) - start)), el('td', {class: 'mono'}, str(d.method) + ' ' + str(d.path)),
      el('td', {class: 'mono tight'}, str(d.model)), el('td', {class: 'num'}, el('span', {class: 'chip ' + toneOf(e)}, num(d.status))),
      n(count(d.input_tokens)), n(count(d.output_tokens)), n(duration(d.ttfb_ms)), n(duration(d.duration_ms)),
      n(money(d.cost_usd, d.priced === false))); })));
}

function showMemory() {
  const marks = page.events.filter((e) => /^memory\.(warning|oom)$/.test(e.type) && isObject(e.data));
  const sums = page.events.filter((e) => e.type === 'memory.summary' && isObject(e.data));
  const last = sums.length ? sums[sums.length - 1].data : null;
  const nodes = [];
  if (last && num(last.limit_bytes) > 0) {
    const share = Math.min(1, num(last.peak_bytes) / last.limit_bytes);
    const bar = el('span', {class: share > .95 ? 'full' : share > .8 ? 'high' : null});
    bar.style.width = (share * 100).toFixed(1) + '%';
    nodes.push(el('p', {}, `Peak ${bytes(last.peak_bytes)} of ${bytes(last.limit_bytes)} (${(share * 100).toFixed(0)} %, ${str(last.source)})`),
               el('div', {class: 'meter'}, bar));
  }
  const start = page.events.length ? Date.parse(page.events[0].time) : 0;
  if (marks.length) nodes.push(el('ul', {}, ...marks.map((e) =>
    el('li', {}, duration(Date.parse(e.time) - start) + ': ' + describe(e)))));
  if (!nodes.length) nodes.push(el('p', {class: 'empty'}, 'No mark was crossed and no summary is here yet.'));
  fill('memory-body', ...nodes);
}

function showFiles() {
  const files = page.run.files.filter((f) => f.kind === 'artifact');
  const skipped = page.events.filter((e) => e.type === 'artifact.skipped' && isObject(e.data));
  const box = byId('file-list');
  box.className = files.length + skipped.length ? 'frame scroll' : 'empty';
  if (!files.length && !skipped.length) return fill('file-list', 'No artifact was collected.');
  fill('file-list', table([{name: 'Path'}, {name: 'Size', num: true}, {name: 'SHA-256'}, {name: ''}],
    [...files.map((f) => el('tr', {}, el('td', {class: 'wide mono'}, f.name), el('td', {class: 'num'}, bytes(f.bytes)),
      el('td', {class: 'mono'}, digest(f.sha256)), el('td', {class: 'tight'}, download(f)))),
     ...skipped.map((e) => el('tr', {}, el('td', {class: 'wide mono'}, str(e.data.path)), el('td', {}),
      el('td', {class: 'quiet'}, str(e.data.reason)), el('td', {}, el('span', {class: 'chip warn'}, 'skipped'))))]));
}

function digest(hex) {
  const node = el('span', {}, hex.slice(0, 16) + '…');
  node.title = hex;
  return node;
}

function download(file) {
  if (!file.stored) return el('span', {class: 'chip'}, 'on its way');
  return el('a', {href: blobPath(file), download: baseName(file.name)}, 'Download');
}

async function fetchText(file, range) {
  const known = page.fetched.get(file.sha256);
  if (known !== undefined) return known;
  const headers = file.bytes > 0 ? {Range: range} : {};
  const answer = await fetch(blobPath(file), {credentials: 'same-origin', headers});
  if (!answer.ok) throw new Error(await reasonOf(answer));
  const text = await answer.text();
  page.fetched.set(file.sha256, text);
  return text;
}

async function showOutput() {
  const nodes = [];
  for (const file of page.run.files.filter((f) => f.kind === 'stdout' || f.kind === 'stderr')) {
    nodes.push(el('h3', {}, file.kind + ' '), el('p', {class: 'quiet'}, bytes(file.bytes) + ' · ', download(file)));
    if (!file.stored) continue;
    const text = await fetchText(file, 'bytes=-' + kTail);
    if (file.bytes > kTail) nodes.push(el('p', {class: 'quiet'}, 'The last ' + bytes(kTail) + ':'));
    nodes.push(file.bytes ? el('pre', {tabindex: '0'}, text) : el('p', {class: 'empty'}, 'Nothing was written.'));
  }
  if (!nodes.length) nodes.push(el('p', {class: 'empty'}, 'The output comes when the agent has ended.'));
  fill('output-body', ...nodes);
  for (const block of byId('output-body').querySelectorAll('pre')) block.scrollTop = block.scrollHeight;
}

async function showPatch() {
  const file = page.run.files.find((f) => f.kind === 'patch');
  if (!file) return fill('patch-body', el('p', {class: 'empty'}, 'No patch was stored.'));
  const nodes = [el('p', {class: 'quiet'}, bytes(file.bytes) + ' · ', download(file))];
  if (file.stored && file.bytes > 0) {
    const text = await fetchText(file, 'bytes=0-' + (kPatch - 1));
    const code = el('pre', {tabindex: '0'});
    for (const line of text.split('\n')) {
      const tone = /^(\+\+\+|---|diff |index )/.test(line) ? 'hunk' : line.startsWith('@@') ? 'hunk'
        : line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : null;
      code.append(tone ? el('span', {class: tone}, line) : line, '\n');
    }
    nodes.push(code);
    if (file.bytes > kPatch) nodes.push(el('p', {class: 'quiet'}, 'Cut here; the download has all of it.'));
  }
  fill('patch-body', ...nodes);
}

function showIntegrity() {
  const run = page.run, receipt = isObject(run.receipt) ? run.receipt : null;
  fill('integrity-body',
    fact('Hash chain', run.acked_seq ? `Verified by the collector from event 1 to ${run.acked_seq}` : 'No event yet'),
    fact('Seals in the journal', String(page.events.filter((e) => e.type === 'journal.seal').length)),
    fact('Chain head', el('code', {}, run.head), true),
    fact('Report', run.report_sha256 ? el('code', {}, run.report_sha256) : 'Not here yet', true),
    fact('Receipt', receipt ? `Given at ${str(receipt.time)} for event ${receipt.seq}` : 'Not given: results are not complete', true));
}

async function load() {
  const run = await fetchJson('/v1/runs/' + encodeURIComponent(runId));
  if (page.run && page.run.attempt !== run.attempt) page.events = [];
  page.run = run;
  const last = page.events.length ? page.events[page.events.length - 1].seq : 0;
  const fresh = await fetchEvents(page.run, last);
  page.events.push(...fresh);
  showVerdict();
  showFacts();
  if (fresh.length || !page.loaded || Boolean(run.report) !== page.reported) { showEvents(); showCalls(); showMemory(); }
  const files = JSON.stringify([page.run.files, page.run.complete]);
  if (files !== page.files || fresh.length) {
    page.files = files;
    showFiles();
    await showOutput();
    await showPatch();
  }
  showIntegrity();
  page.loaded = true;
  page.reported = Boolean(run.report);
}

byId('kind').addEventListener('change', showEvents);
byId('search').addEventListener('input', showEvents);
byId('all-events').addEventListener('click', () => { page.all = true; showEvents(); });
keepFresh(load, () => page.run && !page.run.complete && page.run.state !== 'lost');
