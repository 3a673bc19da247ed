// The list of runs.
'use strict';

const list = {runs: [], next: '', older: []};

function runRow(run) {
  const s = isObject(run.summary) ? run.summary : {};
  const status = statusOf(run);
  const tokens = num(s.input_tokens) + num(s.output_tokens) + num(s.cache_read_tokens) +
      num(s.cache_write_tokens);
  const name = el('a', {href: '/runs/' + encodeURIComponent(run.run_id), class: 'mono'},
                  str(run.run_id).slice(0, 13));
  name.title = str(run.run_id);
  return el('tr', {},
    el('td', {class: 'tight'}, el('span', {class: 'chip ' + status.tone}, status.word),
       status.reason ? el('div', {class: 'quiet'}, status.reason) : null),
    el('td', {class: 'tight'}, name,
       run.attempt > 1 ? el('div', {class: 'quiet'}, 'attempt ' + run.attempt) : null),
    el('td', {}, baseName(s.job) || '–', el('div', {class: 'quiet'}, str(s.preset))),
    el('td', {}, str(s.last_type) || 'none yet', el('div', {class: 'quiet'}, age(run.seen))),
    el('td', {class: 'num'}, count(s.calls),
       num(s.denials) > 0 ? el('div', {class: 'quiet'}, count(s.denials) + ' denied') : null),
    el('td', {class: 'num'}, count(tokens)),
    el('td', {class: 'num'}, num(s.calls) > 0 ? money(s.cost_usd, s.unpriced) : '–'),
    el('td', {class: 'num'}, age(s.started || run.opened)));
}

function showRuns() {
  const seen = new Set();
  const runs = [...list.runs, ...list.older].filter((r) => !seen.has(r.run_id) && seen.add(r.run_id));
  fill('runs', ...runs.map(runRow));
  byId('empty').hidden = runs.length > 0;
  byId('more').hidden = !list.next;
  const live = runs.filter((r) => r.state === 'running').length;
  setText('counts', runs.length + (list.next ? '+' : '') + ' in all, ' + live + ' running');
}

async function loadRuns() {
  const answer = await fetchJson('/v1/runs');
  list.runs = answer.runs;
  if (list.older.length === 0) list.next = answer.next || '';
  showRuns();
}

byId('more').addEventListener('click', async () => {
  const answer = await fetchJson('/v1/runs?before=' + encodeURIComponent(list.next));
  list.older.push(...answer.runs);
  list.next = answer.next || '';
  showRuns();
});

keepFresh(loadRuns, () => list.runs.some((r) => r.state === 'running'));
