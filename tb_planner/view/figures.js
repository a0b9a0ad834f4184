// Shows the title, the figures of a tick and the list of restarts.

const MAX_LISTED = 500; // restarts in the list: thousands of buttons would make the page slow

class Figures {
  constructor(record, timeline, why, lengths) {
    this.record = record;
    this.lengths = lengths;
    this.why = why;
    this.timeline = timeline;
    this.listed = this.firstListed = 0; // end and beginning of the listed restarts
  }

  showHead() {
    const { head, maps } = this.record;
    if (head.title && $('title').textContent === 'A run') document.title = $('title').textContent = head.title;
    const facts = maps[0]?.facts;
    if (facts) document.documentElement.style.setProperty('--aspect', facts.width / facts.height);
  }

  // The algorithm is that of the tick; it may change during a run.
  factsText(tick) {
    const { algorithms, head, maps } = this.record;
    const facts = maps[0]?.facts;
    const algorithm = Record.at(algorithms, tick)?.algorithm ?? head.algorithm;
    const size = facts && `${facts.width} × ${facts.height} cells${facts.resolution_m ? ` of ${round(facts.resolution_m)} m` : ''}`;
    const pace = head.period_s && `tick period ${durationText(1000 * head.period_s)}`;
    const others = Object.entries(head.facts || {}).map(([name, value]) => `${name} ${value}`);
    return [algorithm, size, pace, ...others].filter(Boolean).join(' · ');
  }

  show(tick, isPlaying) {
    const { record } = this;
    const facts = this.factsText(tick);
    if ($('facts').textContent !== facts) $('facts').textContent = facts;
    const status = Record.at(record.statuses, tick)?.status || '';
    if ($('status').textContent !== words(status)) $('status').textContent = words(status);
    const restart = Record.at(record.restarts, tick);
    const isNew = Boolean(restart) && record.time.values[tick] - record.time.values[restart.tick] < 0.5;
    $('restarted').hidden = !isNew;
    if (isNew) $('restarted').textContent = `restart: ${reasonText(restart.restarts)}`;
    this.showFigures(tick);
    this.showTime(tick, status, isPlaying);
    this.markRestart(tick);
  }

  // The figures of a tick: names and values in words.
  rows(tick) {
    const { record } = this;
    const value = (name) => record[name].values[tick];
    const { lengths } = this;
    const toGo = lengths.toGo(tick);
    const speed = lengths.speed(tick);
    const blocked = this.why.blocked(tick);
    return [
      ['Tick', `${count(tick)} of ${count(record.ticks - 1)}`],
      ['Tick time', durationText(value('duration'))],
      ['Expansions', count(value('expansions'))],
      ['Open list', count(value('openSize'))],
      ['Route', lengths.text(lengths.ahead(tick), tick)],
      ['Backtracking', lengths.text(lengths.ahead(tick, value('back')), tick)],
      ['To go', lengths.text(toGo.length, tick, toGo.isLeast)],
      ['Driven', lengths.text(lengths.driven(tick), tick)],
      ['Speed', speed === undefined ? '–' : `${lengths.text(speed, tick)}/s`],
      ['Cells blocked', blocked ? count(blocked) : '–'],
      ['Restarts', count(Record.indexAt(record.restarts, tick) + 1)],
    ];
  }

  showFigures(tick) {
    const rows = this.rows(tick);
    const key = rows.map((row) => row[1]).join('|');
    if (key === this.shownFigures) return;
    this.shownFigures = key;
    if ($('figures').childElementCount !== rows.length) {
      $('figures').replaceChildren(...rows.map(([name]) => {
        const row = document.createElement('div');
        row.append(element('dt', name), element('dd', ''));
        return row;
      }));
    }
    rows.forEach(([, text], i) => { $('figures').children[i].children[1].textContent = text; });
  }

  showTime(tick, status, isPlaying) {
    const { record } = this;
    const last = record.ticks - 1;
    const time = `${record.time.values[tick].toFixed(2)} s`;
    const clock = `${time} of ${record.time.values[last].toFixed(2)} s`;
    if ($('clock').textContent !== clock) $('clock').textContent = clock;
    $('playhead').style.transform = `translateX(${this.timeline.xOf(tick)}px)`;
    if (Number($('scrub').value) !== tick) $('scrub').value = tick;
    const text = `tick ${tick} of ${last}, ${time}, ${words(status)}`;
    $('scrub').setAttribute('aria-valuetext', text);
    if (!isPlaying) $('map').setAttribute('aria-label', `Map with the robot and its search at ${text}`);
  }

  listRestarts() {
    const { restarts } = this.record;
    const end = Math.min(this.firstListed + MAX_LISTED, restarts.length);
    for (; this.listed < end; this.listed++) $('restarts').append(this.restartItem(restarts[this.listed]));
    const which = restarts.length > MAX_LISTED ? `, from no. ${count(this.firstListed + 1)}` : '';
    $('restarts-title').textContent = `Restarts (${count(restarts.length)}${which})`;
    if (!restarts.length && !$('restarts').childElementCount) $('restarts').append(element('li', 'none', 'none'));
    else if (restarts.length) $('restarts').querySelector('.none')?.remove();
  }

  restartItem({ tick, restarts: reasons }) {
    const button = document.createElement('button');
    button.type = 'button';
    button.dataset.tick = tick;
    button.append(element('span', `${this.record.time.values[tick].toFixed(2)} s`, 'when'), element('span', reasonText(reasons)));
    const item = document.createElement('li');
    item.append(button);
    return item;
  }

  listFrom(first) {
    $('restarts').replaceChildren();
    this.listed = this.firstListed = Math.max(first, 0);
    this.marked = undefined;
    this.listRestarts();
  }

  markRestart(tick) {
    const i = Record.indexAt(this.record.restarts, tick);
    if (i === this.marked) return;
    if (i >= 0 && (i < this.firstListed || i >= this.firstListed + MAX_LISTED)) this.listFrom(i - MAX_LISTED / 2);
    if (i >= this.listed) return; // a new restart will be listed soon
    $('restarts').querySelector('[aria-current]')?.removeAttribute('aria-current');
    this.marked = i;
    const button = i < 0 ? null : $('restarts').children[i - this.firstListed].firstChild;
    if (!button) return;
    button.setAttribute('aria-current', 'true');
    const list = $('restarts');
    if (list.scrollHeight > list.clientHeight) list.scrollTop = button.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
}
