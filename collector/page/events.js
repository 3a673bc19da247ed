// Events of a run: fetching, describing, the time axis.
'use strict';

/** Fetches what came since `after`, line by line; a line that is no JSON is kept as such. */
async function fetchEvents(run, after) {
  const fresh = [];
  for (;;) {
    const last = fresh.length > 0 ? fresh[fresh.length - 1].seq : after;
    const path = '/v1/runs/' + run.run_id + '/attempts/' + run.attempt + '/events?after=' + last;
    const answer = await fetch(path, {credentials: 'same-origin'});
    if (!answer.ok) throw new Error(await reasonOf(answer));
    const lines = (await answer.text()).split('\n').filter((line) => line);
    if (lines.length === 0) return fresh;
    for (const line of lines) fresh.push(JSON.parse(line));
  }
}

const kSentences = {
  'run.started': (d) => ['Warder', str(d.warder), 'took the job '].filter((w) => w).join(' ') + baseName(isObject(d.job) ? d.job.file : ''),
  'box.ready': (d) => 'The box is ready (' + str(d.mechanism) + ')',
  'preflight.warning': (d) => str(d.sentence),
  'disk.full': (d) => str(d.sentence),
  'setup.failed': (d) => str(d.sentence),
  'agent.started': (d) => 'The agent started: ' + (Array.isArray(d.argv) ? d.argv.map(String).join(' ') : ''),
  'llm.call': (d) => `${str(d.model) || str(d.path)}: ${num(d.status)}, ${count(d.input_tokens)} in, ` +
    `${count(d.output_tokens)} out, ${duration(d.duration_ms)}` + (d.priced === false ? '' : ', ' + money(d.cost_usd)),
  'broker.denied': (d) => `Denied ${str(d.method)} ${str(d.host)}${str(d.path)}: ${str(d.reason)}`,
  'dns.denied': (d) => `Denied the name ${str(d.name)} (${str(d.type)}): ${str(d.sentence)}`,
  'broker.upstream_failed': (d) => `Upstream ${str(d.host)} failed (${str(d.why)}): ${str(d.sentence)}`,
  'broker.bad_request': (d) => str(d.sentence),
  'memory.warning': (d) => `Memory passed ${num(d.mark_percent)} %: ${bytes(d.used_bytes)} of ${bytes(d.limit_bytes)}`,
  'memory.oom': (d) => `The kernel killed ${num(d.kills)} process(es) for memory`,
  'memory.summary': (d) => `Peak ${bytes(d.peak_bytes)} of ${bytes(d.limit_bytes)}`,
  'limit.reached': (d) => `Limit ${str(d.limit)} reached (${duration(d.value_ms)})`,
  'stop.requested': (d) => 'Asked to stop by ' + str(d.by) + (d.signal ? ' (' + d.signal + ')' : ''),
  'agent.exited': (d) => (d.signal ? 'The agent was ended by signal ' + d.signal : 'The agent ended with code ' + d.code) +
    ` after ${duration(d.wall_ms)}, peak ${bytes(d.max_rss_bytes)}`,
  'agent.leftovers': (d) => `${num(d.terminated)} left-over process(es) terminated, ${num(d.killed)} killed`,
  'output.closed': (d) => `${str(d.stream)}: ${bytes(d.bytes)}`,
  'artifact.stored': (d) => `${str(d.path)} (${bytes(d.bytes)})`,
  'artifact.skipped': (d) => `${str(d.path)}: ${str(d.reason)}`,
  'patch.stored': (d) => `Patch of ${bytes(d.bytes)}`,
  'patch.skipped': (d) => str(d.reason),
  'delivery.down': (d) => str(d.sentence), 'delivery.up': (d) => str(d.sentence),
  'stage.lost': (d) => `Stage ${str(d.stage)} ended` + (d.restarted ? ' and was started again' : ''),
  'run.finished': (d) => str(isObject(d.outcome) ? d.outcome.sentence : d.sentence),
  'journal.seal': (d) => 'Sealed up to ' + num(d.of),
};

function describe(event) {
  const data = isObject(event.data) ? event.data : {};
  const tell = Object.hasOwn(kSentences, event.type) ? kSentences[event.type] : null;
  try { return tell ? tell(data) : ''; } catch { return ''; }
}

function toneOf(event) {
  const d = isObject(event.data) ? event.data : {};
  if (/denied|failed|oom|lost|bad_request|limit/.test(event.type)) return 'bad';
  if (/warning|skipped|down|stop/.test(event.type)) return 'warn';
  if (event.type === 'llm.call') return num(d.status) >= 200 && num(d.status) < 300 ? 'live' : 'bad';
  return '';
}

const kOpenRows = new Set();

function eventRow(event, start) {
  const after = Date.parse(event.time) - start;
  const more = el('details', {}, el('summary', {}, 'data'));
  // Filled when it is opened: a run may have very many events. Rows are made anew when events come;
  // what was open stays open.
  more.open = kOpenRows.has(event.seq);
  more.addEventListener('toggle', () => {
    if (more.open) kOpenRows.add(event.seq); else kOpenRows.delete(event.seq);
    if (more.children.length === 1) more.append(el('pre', {}, JSON.stringify(event.data, null, 2)));
  });
  return el('tr', {},
    el('td', {class: 'num quiet'}, event.seq),
    el('td', {class: 'num'}, Number.isFinite(after) ? duration(Math.max(0, after)) : ''),
    el('td', {class: 'tight'}, el('span', {class: 'chip ' + toneOf(event)}, event.type)),
    el('td', {class: 'wide'}, el('span', {class: 'said'}, describe(event)), more));
}

function svg(tag, attributes, text) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

const kLanes = [
  {name: 'LLM calls', of: (e) => e.type === 'llm.call'},
  {name: 'Denials', of: (e) => ['broker.denied', 'dns.denied', 'broker.upstream_failed'].includes(e.type)},
  {name: 'Memory', of: (e) => e.type === 'memory.warning' || e.type === 'memory.oom'},
  {name: 'Life', of: (e) => /^(run|agent|box|limit|stop)\./.test(e.type)},
];

/** One lane per kind, one mark per event; a call is as wide as it was long. */
function axisOf(events) {
  const times = events.map((e) => Date.parse(e.time)).filter(Number.isFinite);
  if (times.length < 2) return null;
  const start = Math.min(...times.slice(0, 1)), span = Math.max(times[times.length - 1] - start, 1);
  const left = 84, width = 1000, x = (t) => left + (width - left - 10) * Math.min(1, Math.max(0, (t - start) / span));
  const height = kLanes.length * 24 + 26;
  const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
                              'aria-label': 'Events along time; the table below has the same facts'});
  kLanes.forEach((lane, i) => {
    const y = i * 24 + 14;
    picture.append(svg('text', {x: 0, y: y + 4}, lane.name),
                   svg('line', {x1: left, x2: width - 10, y1: y, y2: y, class: 'lane'}));
    for (const event of events.filter(lane.of).slice(-2000)) {
      const end = x(Date.parse(event.time));
      const long = event.type === 'llm.call' ? num(event.data && event.data.duration_ms) : 0;
      const from = x(Date.parse(event.time) - long);
      const tone = {bad: 'failed', warn: 'alarm', live: 'call'}[toneOf(event)] || 'life';
      const mark = svg('rect', {x: Math.min(from, end - 3), y: y - 6, width: Math.max(end - from, 3), height: 12, rx: 2, class: tone});
      mark.append(svg('title', {}, event.type + ' · ' + describe(event)));
      picture.append(mark);
    }
  });
  for (const part of [0, .25, .5, .75, 1]) {
    picture.append(svg('text', {x: left + (width - left - 10) * part, y: height - 4,
      'text-anchor': part === 0 ? 'start' : part === 1 ? 'end' : 'middle'}, duration(span * part)));
  }
  return picture;
}
