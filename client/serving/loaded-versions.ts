/**
 * The versions that a server holds in memory, each for as long as requests use it.
 *
 * Invariants
 * - [LOADED-1] A version is unloaded only when no request uses it.
 * - [LOADED-2] No more than `most` versions are held; requests for another one wait for a place.
 * - [LOADED-3] A version that is asked for all the time gives its place up when another one waits for it.
 */

export interface LoadedVersionsOptions<Model> {
  readonly most: number
  load(version: number): Promise<Model>
  unload(version: number): Promise<void>
}

/** A model that stays loaded until it is given back. */
export interface Borrowed<Model> extends Disposable {
  readonly model: Model
}

interface Place<Model> {
  readonly version: number
  readonly model: Promise<Model>
  users: number
  /** Another version waits for the place: it takes no new users until it is idle. */
  isLeaving: boolean
}

interface Waiting<Model> {
  readonly version: number
  readonly enter: (place: Place<Model>) => void
}

export class LoadedVersions<Model> {
  readonly #options: LoadedVersionsOptions<Model>
  /** By version, the least recently used first. */
  readonly #places = new Map<number, Place<Model>>()
  #waiting: readonly Waiting<Model>[] = []

  constructor(options: LoadedVersionsOptions<Model>) {
    this.#options = options
  }

  /** Loads a version where it is not there. @throws what loading throws */
  async borrow(version: number): Promise<Borrowed<Model>> {
    const { promise, resolve } = Promise.withResolvers<Place<Model>>()
    this.#waiting = [...this.#waiting, { version, enter: resolve }]
    this.#advance()
    const place = await promise
    const giveBack = () => this.#giveBack(place)
    try {
      return { model: await place.model, [Symbol.dispose]: giveBack }
    } catch (error) {
      if (this.#places.get(version) === place) this.#places.delete(version)
      giveBack()
      throw error
    }
  }

  #giveBack(place: Place<Model>): void {
    place.users -= 1
    this.#advance()
  }

  /** Lets in, in their order, those for whom there is a place. */
  #advance(): void {
    this.#waiting = this.#waiting.filter(({ version, enter }) => {
      const place = this.#placeOf(version)
      if (place === undefined) return true
      place.users += 1
      enter(place)
      return false
    })
    const isFull = this.#waiting.some(({ version }) => !this.#places.has(version))
    const [oldest, ...others] = this.#places.values()
    const stays = oldest?.isLeaving === true && !isFull
    for (const place of others) place.isLeaving = false
    if (oldest !== undefined) oldest.isLeaving = isFull
    if (stays) this.#advance()
  }

  #placeOf(version: number): Place<Model> | undefined {
    const known = this.#places.get(version)
    if (known !== undefined) {
      if (known.isLeaving && known.users > 0) return undefined
      this.#places.delete(version)
      this.#places.set(version, known)
      return known
    }
    if (this.#places.size < this.#options.most) return this.#open(version, Promise.resolve())
    const idle = [...this.#places.values()].find(({ users }) => users === 0)
    if (idle === undefined) return undefined
    this.#places.delete(idle.version)
    return this.#open(version, this.#options.unload(idle.version))
  }

  #open(version: number, isFree: Promise<void>): Place<Model> {
    const model = isFree.then(() => this.#options.load(version))
    const place: Place<Model> = { version, model, users: 0, isLeaving: false }
    this.#places.set(version, place)
    return place
  }
}
