/** The home that is shown, and what the page may do in it. */

export interface HomeFacts {
  /** Its folder. */
  readonly home: string
  /** The release of Perdure. */
  readonly release: string
  /** How commands are typed on the server's machine; `homeFlag` is empty for the default home. @example { name: 'npx perdure', homeFlag: ' --home /data' } */
  readonly typed: { readonly name: string; readonly homeFlag: string }
  /** Where the Temporal UI answers; null where no server runs. */
  readonly temporal: string | null
  /** Whether the page may give orders and branch: `perdure ui --steer`. */
  readonly canSteer: boolean
  /** Free and total bytes of the home's disk. */
  readonly disk: { readonly free: number; readonly total: number }
  /** How far the search has read what there is. */
  readonly search: SearchState
}

export interface SearchState {
  /** Episodes whose texts can be found, of all that have some. */
  readonly indexed: number
  readonly episodes: number
}
