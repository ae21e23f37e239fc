import { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import { simulatedClock } from '../../../machine/services/clock.testing.ts'
import { withClock } from '../../../machine/services/clock.ts'
import { frame } from './frame.testing.ts'
import { linkShell } from './shell-link.ts'

type Stream = 'stdout' | 'stderr'

/** The other end of a link: reads what is sent, and says what a test tells it to say. */
class Shell extends Duplex {
  #read = ''
  #asked = Promise.withResolvers<string>()

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#read += chunk.toString()
    const word = /answer ([0-9a-f]{24}) /.exec(this.#read)?.[1]
    if (word !== undefined) {
      this.#read = ''
      this.#asked.resolve(word)
    }
    done()
  }

  /** The word of the next request. */
  async word(): Promise<string> {
    const word = await this.#asked.promise
    this.#asked = Promise.withResolvers<string>()
    return word
  }

  say(stream: Stream, text: string): void {
    this.push(frame(stream === 'stdout' ? 1 : 2, text))
  }

  answer(word: string, status: number, interrupts: number): void {
    for (const stream of ['stdout', 'stderr'] as const)
      this.say(stream, `\n${word} ${status} ${interrupts}\n`)
  }
}

/** An interrupt: when it is asked for, and when it has been sent. */
function createInterrupt() {
  const asked = Promise.withResolvers<void>()
  const sent = Promise.withResolvers<void>()
  const interrupt = (): Promise<void> => {
    asked.resolve()
    return sent.promise
  }
  return { asked: asked.promise, send: sent.resolve, interrupt }
}

test('a container that floods while it is asked nothing is reported once it has said too much', async () => {
  const shell = new Shell()
  const { interrupt } = createInterrupt()
  const flooded = Promise.withResolvers<void>()
  let floods = 0
  const link = linkShell(shell, interrupt, () => {
    floods += 1
    flooded.resolve()
  })
  const piece = 'x'.repeat(2 ** 20)
  for (let sent = 0; sent < 15; sent++) shell.say('stdout', piece)
  const result = link.ask('true')
  shell.answer(await shell.word(), 0, 0)
  expect((await result).answer).toMatchObject({ exitCode: 0 })
  expect(floods).toBe(0)
  for (let sent = 0; sent < 17; sent++) shell.say('stderr', piece)
  await flooded.promise
  link.close()
})

test('of a command that is interrupted no more is read than a share at a time', async () => {
  const shell = new Shell()
  const { asked, send, interrupt } = createInterrupt()
  // Reading so much takes longer than an interrupted shell may, where a machine is busy: no time passes here.
  const clock = simulatedClock()
  const link = withClock(clock, () => linkShell(shell, interrupt))
  const result = withClock(clock, () => link.ask('yes'))
  const word = await shell.word()
  const piece = 'x'.repeat(2 ** 20)
  const say = (pieces: number) => {
    for (let sent = 0; sent < pieces; sent++) shell.say('stdout', piece)
  }
  say(17)
  await asked
  say(64)
  await new Promise(setImmediate)
  // Sixty pieces and more wait at the other end, as they would in the container's pipe.
  expect(shell.isPaused()).toBe(true)
  expect(shell.readableLength).toBeGreaterThan(55 * piece.length)
  send()
  shell.answer(word, 137, 1)
  expect(await result).toMatchObject({
    lost: false,
    answer: { exitCode: 137, timedOut: false, truncated: true },
  })
  link.close()
})

const late = { exitCode: 124, stderr: '', timedOut: true }

test('the answer to an interrupted command is no part of what it said, in whatever pieces it comes', async () => {
  for (let cut = 0; cut <= 30; cut++) {
    const shell = new Shell()
    const { asked, send, interrupt } = createInterrupt()
    const link = linkShell(shell, interrupt)
    const result = link.ask('printf begun; sleep 1000', { deadlineMs: 10 })
    const word = await shell.word()
    shell.say('stdout', 'begun')
    await asked
    const answer = `\n${word} 137 1\n`
    shell.say('stdout', answer.slice(0, cut))
    send()
    await new Promise(setImmediate)
    shell.say('stdout', answer.slice(cut))
    shell.say('stderr', answer)
    expect(await result).toMatchObject({ lost: false, answer: { ...late, stdout: 'begun' } })
    link.close()
  }
})

test('an interrupt that comes after the answer is waited for before the next command', async () => {
  const shell = new Shell()
  const { asked, send, interrupt } = createInterrupt()
  const link = linkShell(shell, interrupt)
  const result = link.ask('true', { deadlineMs: 10 })
  const word = await shell.word()
  await asked
  shell.answer(word, 0, 0)
  send()
  shell.answer(await shell.word(), 0, 0)
  shell.answer(await shell.word(), 0, 1)
  expect(await result).toMatchObject({ lost: false, answer: { ...late, stdout: '' } })
  link.close()
})
