/** An episode, or what it did, as something to imitate beside the groups that an update trains on: no policy loss is of it. */
export interface EpisodeExample {
  readonly task: string
  /** [time] */
  readonly tokens: Int32Array
  /** [time] 1 where the token is imitated. */
  readonly imitated: Uint8Array
}
