// A moment of a run as the hash of a link: #tick=123&view=10.5,20.5,2&hide=open,trail&cell=10,20
// view is the cell in the middle and the zoom, of which 1 shows the whole map.

class Moment {
  constructor(page) {
    this.page = page;
    this.wanted = Moment.read(location.hash);
    this.restoreSettings();
    window.addEventListener('hashchange', () => this.apply(Moment.read(location.hash)));
    $('copy-link').addEventListener('click', () => this.copy());
    $('speed').addEventListener('change', () => keep('speed', $('speed').value));
  }

  // What a hash names; it may come from anywhere.
  static read(hash) {
    const given = new URLSearchParams(hash.replace(/^#/, ''));
    const numbers = (name, length) => {
      const values = (given.get(name) || '').split(',').map((text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : NaN));
      return values.length === length && values.every(Number.isFinite) ? values : undefined;
    };
    return {
      tick: numbers('tick', 1)?.[0],
      view: numbers('view', 3),
      cell: numbers('cell', 2)?.map(Math.floor),
      hidden: given.has('hide') ? given.get('hide').split(',') : undefined,
    };
  }

  // The hash of what the page shows now.
  get hash() {
    const { page, page: { scene } } = this;
    const parts = [`tick=${page.target}`];
    if (!scene.isFitted) {
      const values = [scene.x, scene.y, scene.scale / scene.fittingScale()];
      parts.push(`view=${values.map((value) => Number(value.toFixed(3))).join(',')}`);
    }
    parts.push(`hide=${[...scene.hidden].join(',')}`);
    const { cell } = page.inspector;
    if (cell) parts.push(`cell=${cell.join(',')}`);
    return `#${parts.join('&')}`;
  }

  get namesATick() {
    return this.wanted.tick !== undefined;
  }

  apply({ tick, view, hidden, cell }) {
    const { page } = this;
    if (hidden) this.hide(hidden);
    if (view) page.scene.place(...view);
    if (cell) page.inspector.pin(cell);
    if (tick !== undefined && !page.isLive) {
      page.pause();
      page.goTo(tick);
    }
    page.redraw();
  }

  // Shows and hides layers, with their boxes in the legend.
  hide(names) {
    for (const box of document.querySelectorAll('#legend input')) {
      box.checked = !names.includes(box.dataset.layer);
      this.page.scene.hide(box.dataset.layer, !box.checked);
    }
  }

  restoreSettings() {
    const speed = kept('speed'), layers = kept('layers');
    if ([...$('speed').options].some((option) => option.value === speed)) $('speed').value = speed;
    if (layers !== null) this.hide(layers.split(','));
  }

  keepLayers() {
    keep('layers', [...this.page.scene.hidden].join(','));
  }

  // Copies the link; where the browser refuses that, shows it selected.
  async copy() {
    const link = location.href.split('#')[0] + this.hash;
    try {
      history.replaceState(null, '', this.hash);
    } catch {
      // not every browser lets a page from disk do that
    }
    try {
      await navigator.clipboard.writeText(link);
      note('Link copied');
    } catch {
      $('link').value = link;
      $('link-dialog').showModal();
      $('link').select();
    }
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(`tb_planner ${name}`, value);
  } catch {
    // a page from disk may have no storage
  }
}

// A value that was kept; null if there is none.
function kept(name) {
  try {
    return localStorage.getItem(`tb_planner ${name}`);
  } catch {
    return null;
  }
}
