/**
 * Loads in progress: who asks for a version that is being loaded waits for that load.
 *
 * Invariants
 * - A load that failed is forgotten, and the next request begins a new one.
 */
export class Loads {
  readonly #inProgress = new Map<number, Promise<void>>()

  /** Loads a version, unless that is being done. */
  once(version: number, load: () => Promise<void>): Promise<void> {
    const known = this.#inProgress.get(version)
    if (known !== undefined) return known
    const loading = load().finally(() => this.#inProgress.delete(version))
    this.#inProgress.set(version, loading)
    return loading
  }
}
