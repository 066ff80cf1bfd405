/** Plays recordings, one at a time. */

export class Player {
  /** @param {() => void} onChange  playback started, stopped or failed */
  constructor(onChange) {
    this.onChange = onChange;
    /** URL of the last recording played. */
    this.url = "";
    this.audio = new Audio();
    /** @type {Set<string>} */
    this.broken = new Set();
    for (const event of ["play", "pause", "ended"]) this.audio.addEventListener(event, onChange);
    this.audio.addEventListener("error", () => this.onError());
  }

  /**
   * Whether this recording is playing.
   *
   * @param {string} url
   */
  plays(url) {
    // A recording that failed to play is not paused either.
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
      if (error.name !== "AbortError") this.onError(); // AbortError only means that playback was paused
    }
  }

  pause() {
    this.audio.pause();
  }

  onError() {
    this.broken.add(this.url);
    this.onChange();
  }
}
