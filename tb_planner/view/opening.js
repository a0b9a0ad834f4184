// What a page shows first: a frame with map and route, and then the whole run, once, until the user acts.

class Opening {
  constructor(page) {
    this.page = page;
    this.isOver = false; // the user has acted, or the first frame is chosen
    this.isShowing = false; // the page plays by itself
    this.looked = 0; // ticks without both map and route
    for (const kind of ['pointerdown', 'keydown', 'wheel']) {
      window.addEventListener(kind, (event) => this.userActs(event), { capture: true, passive: true });
    }
  }

  // Goes to the first tick that shows both map and route; a record often begins without.
  look() {
    const { page, page: { record } } = this;
    if (this.isOver || page.isLive) return;
    if (page.moment.namesATick) {
      page.goTo(page.moment.wanted.tick); // or as near as it has been loaded
      return;
    }
    const { left, mapIndex } = record;
    const shows = (tick) => left.values[tick] > 0 && mapIndex.values[tick] >= 0;
    while (this.looked < record.ticks && !shows(this.looked)) this.looked++;
    if (this.looked === record.ticks) {
      page.goTo(record.maps[0]?.tick ?? 0);
      return;
    }
    this.isOver = true;
    page.goTo(this.looked);
  }

  // Plays the run. It is for pages that have been loaded and not touched yet.
  play() {
    if (this.hasUserActed || this.page.moment.namesATick || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    this.isOver = this.isShowing = true;
    this.page.play();
  }

  userActs(event) {
    this.isOver = this.hasUserActed = true;
    if (!this.isShowing) return;
    this.isShowing = false;
    const at = event.target instanceof Element ? event.target : document.body;
    const pausesItself = at.closest('#play') || (event.key === ' ' && !at.closest('button, select, input'));
    if (!pausesItself && this.page.isPlaying) this.page.pause();
  }
}
