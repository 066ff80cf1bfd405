/** Plays recordings, one at a time. */

export class Player {
  /** @param {() => void} onChange  another one plays, or none, or one cannot be played */
  constructor(onChange) {
    this.onChange = onChange;
    /** Address of what was played last. */
    this.url = "";
    this.audio = new Audio();
    /** @type {Set<string>} */
    this.broken = new Set();
    for (const event of ["play", "pause", "ended"]) this.audio.addEventListener(event, onChange);
    this.audio.addEventListener("error", () => this.failed());
  }

  /**
   * Whether this one plays now.
   *
   * @param {string} url
   */
  plays(url) {
    // One that cannot be played is not paused either.
    return this.url === url && !this.broken.has(url) && !this.audio.paused && !this.audio.ended;
  }

  /** @param {string} url */
  async play(url) {
    if (this.url !== url || this.broken.has(url)) {
      this.url = url;
      this.audio.src = url;
    }
    this.broken.delete(url);
    try {
      await this.audio.play();
    } catch (error) {
      if (error.name !== "AbortError") this.failed(); // that one only says that somebody paused it
    }
  }

  pause() {
    this.audio.pause();
  }

  failed() {
    this.broken.add(this.url);
    this.onChange();
  }
}
