/**
 * Agents of the benchmark, as a process of their own: each holds a conversation with the endpoint.
 *
 * Invariants
 * - It sends what an agent's package would send: the whole conversation with each turn.
 */

/** An agent to begin, as the benchmark tells it. */
export interface Begun {
  readonly root: string
  readonly key: string
  readonly turns: number
  readonly isStreamed: boolean
}

/** The agent has ended. */
export interface Ended {
  readonly key: string
  /** Milliseconds until the first byte of the last answer. */
  readonly firstByte: number
  /** The longest wait for a further one. */
  readonly longestSilence: number
  readonly fault?: string
}

const words =
  'The lamp is on the desk near the window, and the drawer below it is locked. There is a key on the shelf. '

process.on('message', (begun: Begun) => {
  converse(begun).then(
    (ended) => process.send?.(ended),
    (error) =>
      process.send?.({ key: begun.key, firstByte: Number.NaN, longestSilence: 0, fault: String(error) }),
  )
})

async function converse({ root, key, turns, isStreamed }: Begun): Promise<Ended> {
  const messages: object[] = [{ role: 'system', content: words.repeat(8) }]
  let waits: readonly number[] = []
  for (let turn = 0; turn < turns; turn++) {
    messages.push({ role: 'user', content: `${turn}: ${words.repeat(2)}` })
    const since = performance.now()
    const response = await fetch(`${root}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'policy', messages, stream: isStreamed }),
    })
    const chunks: string[] = []
    const times = [since]
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      times.push(performance.now())
      chunks.push(new TextDecoder().decode(chunk))
    }
    if (!response.ok) throw new Error(chunks.join(''))
    waits = times.slice(1).map((time, at) => time - (times[at] ?? since))
    if (!isStreamed) messages.push(JSON.parse(chunks.join('')).choices[0].message)
  }
  const [firstByte = Number.NaN, ...later] = waits
  return { key, firstByte, longestSilence: Math.max(0, ...later) }
}
