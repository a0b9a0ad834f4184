// Icons, signs of the legend, and names and numbers in words.

const $ = (id) => document.getElementById(id);
const NOTE_MS = 4000;
const ICONS = {
  play: '<path class="solid" d="M7 5l12 7-12 7z"/>',
  pause: '<path d="M8 5v14M16 5v14" stroke-width="3.4"/>',
  back: '<path d="M15 6l-7 6 7 6"/>',
  forward: '<path d="M9 6l7 6-7 6"/>',
  begin: '<path d="M6 5v14"/><path class="solid" d="M18 6l-8 6 8 6z"/>',
  end: '<path d="M18 5v14"/><path class="solid" d="M6 6l8 6-8 6z"/>',
  'restart-before': '<path d="M8 7l-5 5 5 5"/><path class="solid" stroke-width="1" d="M12 8h9l-4.5 8z"/>',
  'restart-after': '<path d="M16 7l5 5-5 5"/><path class="solid" stroke-width="1" d="M3 8h9l-4.5 8z"/>',
  overrun: '<path d="M3 10h2M8 10h2"/><path class="solid" d="M5 19V4h3v15z"/><path d="M14 7l5 5-5 5"/>',
  'status-change': '<path d="M5 20V5h8l-2 3.5 2 3.5H5"/><path d="M16 8l4 4-4 4"/>',
  export: '<path d="M12 4v10M8 10l4 4 4-4M5 17v3h14v-3"/>',
  loop: '<path d="M17 3l3 3-3 3M20 6H8a4 4 0 0 0-4 4v1M7 21l-3-3 3-3M4 18h12a4 4 0 0 0 4-4v-1"/>',
  'zoom-fit': '<path d="M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5"/>',
  follow: '<circle cx="12" cy="12" r="3" class="solid"/><path d="M12 3v4M12 17v4M3 12h4M17 12h4"/>',
  move: '<path d="M12 4v16M4 12h16M9 7l3-3 3 3M9 17l3 3 3-3M7 9l-3 3 3 3M17 9l3 3-3 3"/>',
  goal: '<circle cx="12" cy="12" r="8"/><circle cx="12" cy="12" r="2.6" class="solid"/>',
  draw: '<path d="M5 19l1-4L16 5l3 3L9 18z"/>',
  erase: '<path d="M9 19l-5-5L14 4l6 6-9 9zM9 9l6 6"/>',
  'copy-link': '<path d="M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1.5 1.5M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1.5-1.5"/>',
  measure: '<path d="M3 17L17 3l4 4L7 21zM7 13l2 2M10 10l3 3M13 7l2 2"/>',
  theme: '<path d="M12 4a8 8 0 1 0 0 16z" class="solid"/><circle cx="12" cy="12" r="8"/>',
};

function icon(name) {
  return `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${ICONS[name]}</svg>`;
}

function element(tag, text, className = '') {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Shows what a key or a button has done, for a while or until the next one; screen readers read it aloud.
function note(text, stays = false) {
  $('note').textContent = text;
  clearTimeout(note.timer);
  if (!stays) note.timer = setTimeout(() => { $('note').textContent = ''; }, NOTE_MS);
}

function count(value) {
  return value.toLocaleString('en');
}

// NO_PATH is "no path".
function words(name) {
  return name.toLowerCase().replaceAll('_', ' ');
}

const REASONS = {
  blocked: 'route blocked',
  cost_increased: 'route now costs more',
  shortcut_opened: 'shortcut opened',
  search_exhausted: 'search exhausted',
  eager: 'map changed',
  goal_moved: 'goal cell changed',
  start_blocked: 'start blocked',
  no_path: 'no path before',
  heuristic_invalidated: 'heuristic invalid',
  periodic: 'periodic restart',
  new_goal: 'new goal',
  off_route: 'robot left the route',
  requested: 'restart requested',
  map_moved: 'map moved',
  settings: 'settings changed',
};

// Why a search restarted; a reason that this page does not know is shown as it is.
function reasonText(reasons) {
  return reasons.map((reason) => REASONS[reason] || words(reason)).join(', ');
}

function className(value) {
  if (value === 0) return 'free';
  if (value <= HIGHEST_COST) return `cost ${round(2 ** (value / 32))}`;
  return { [UNKNOWN]: 'unknown', [UNKNOWN_BLOCKED]: 'unknown, blocked', [INFLATED]: 'inflated', [OBSTACLE]: 'obstacle' }[value];
}

function signOf(sign) {
  const [kind, name] = sign.split(' ');
  const shapes = {
    line: `<path d="M1 7.5h22" stroke="var(--${name})" stroke-width="3" ${name === 'back' ? 'stroke-dasharray="6 4"' : name === 'before' ? 'stroke-dasharray="2 4"' : ''}/>`,
    cell: `<rect x="5" y="1" width="13" height="13" rx="2" fill="var(--${name})" stroke="var(--rim)"/>`,
    stripes: `<rect x="5" y="1" width="13" height="13" rx="2" fill="var(--obstacle)" stroke="var(--rim)"/><path d="M6 8l6-6M6 13L17 2M12 13l5-5" stroke="var(--${name})" stroke-width="2.4"/>`,
    restart: '<path d="M12 2l6 11H6z" fill="var(--restart)"/>',
    robot: '<path d="M19 7.5L6 13l3-5.5L6 2z" fill="var(--robot)"/>',
    goal: '<circle cx="12" cy="7.5" r="6" fill="var(--goal)" stroke="var(--goal-rim)" stroke-width="1.2"/><circle cx="12" cy="7.5" r="2" fill="var(--goal-rim)"/>',
    waypoint: '<circle cx="12" cy="7.5" r="4" fill="var(--waypoint)" stroke="var(--goal-rim)" stroke-width="1.2"/>',
  };
  return `<svg viewBox="0 0 24 15" aria-hidden="true">${shapes[kind]}</svg>`;
}
