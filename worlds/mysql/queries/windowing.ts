/**
 * OVER: computes window functions over the rows of a query.
 *
 * Invariants
 * - Windows see the rows behind WHERE, GROUP BY and HAVING, and no window sees another one.
 */
import { sqlFailure } from '../database.ts'
import { orderOf } from '../expressions/comparison.ts'
import type { Compiled, Scope } from '../expressions/scope.ts'
import { refuse } from '../failure.ts'
import { type Partition, type WindowFunction, windowFunction } from '../functions/window-functions.ts'
import type { Call, Window } from '../syntax/syntax.ts'
import type { Value } from '../values/value.ts'
import { type OrderKey, rowKey, sorted } from './order.ts'

interface WindowCall {
  readonly call: WindowFunction
  readonly args: readonly Compiled[]
  readonly partition: readonly Compiled[]
  readonly order: readonly OrderKey[]
}

interface Member {
  readonly at: number
  readonly row: readonly Value[]
  readonly keys: readonly Value[]
}

export class Windowing {
  readonly #windows: ReadonlyMap<string, Window>
  readonly #calls: WindowCall[] = []
  #values: readonly Value[] = []

  constructor(windows: ReadonlyMap<string, Window>) {
    this.#windows = windows
  }

  get isUsed(): boolean {
    return this.#calls.length > 0
  }

  call(call: Call, scope: Scope): Compiled {
    const { window } = scope
    scope.window = undefined
    const { partition, order, frame } = this.#window(call.window)
    const compiled: WindowCall = {
      args: call.args.map((arg) => scope.compile(arg)),
      partition: partition.map((each) => scope.compile(each)),
      order: order.map(({ expression, descending }) => ({ compiled: scope.compile(expression), descending })),
      call: windowFunction(
        call,
        call.args.map((arg) => scope.compile(arg)),
        frame,
      ),
    }
    scope.window = window
    const at = this.#calls.push(compiled) - 1
    return { type: compiled.call.type, get: () => this.#values[at] ?? null }
  }

  /** @throws StatementRefused where there is no window of that name */
  #window(given: Window | string | undefined): Window {
    if (given === undefined)
      return refuse(sqlFailure(1064, '42000', 'You have an error in your SQL syntax: OVER is missing'))
    if (typeof given !== 'string' && given.base === undefined) return given
    const name = typeof given === 'string' ? given : (given.base ?? '')
    const base = this.#windows.get(name)
    if (base === undefined) return refuse(sqlFailure(3579, 'HY000', `Window name '${name}' is not defined.`))
    const found = this.#window(base)
    if (typeof given === 'string') return found
    return {
      partition: found.partition,
      order: given.order.length > 0 ? given.order : found.order,
      frame: given.frame ?? found.frame,
    }
  }

  /** The values of all windows for each row. @param restore goes to a row */
  run(count: number, restore: (at: number) => void): readonly (readonly Value[])[] {
    const values: Value[][] = Array.from({ length: count }, () => [])
    for (const [at, call] of this.#calls.entries())
      for (const { member, value } of this.#results(call, count, restore))
        (values[member] as Value[])[at] = value
    return values
  }

  restore(values: readonly Value[]): void {
    this.#values = values
  }

  *#results(
    { call, args, partition, order }: WindowCall,
    count: number,
    restore: (at: number) => void,
  ): Iterable<{ readonly member: number; readonly value: Value }> {
    const partitions = new Map<string, Member[]>()
    const types = partition.map(({ type }) => type)
    for (let at = 0; at < count; at++) {
      restore(at)
      const key = rowKey(
        partition.map((each) => each.get()),
        types,
      )
      const member = {
        at,
        row: args.map((arg) => arg.get()),
        keys: order.map(({ compiled }) => compiled.get()),
      }
      const members = partitions.get(key)
      if (members === undefined) partitions.set(key, [member])
      else members.push(member)
    }
    for (const members of partitions.values()) {
      const inOrder = sorted(members, order) as readonly Member[]
      const values = call.values(partitionOf(inOrder, order))
      for (const [at, { at: member }] of inOrder.entries()) yield { member, value: values[at] ?? null }
    }
  }
}

function partitionOf(members: readonly Member[], order: readonly OrderKey[]): Partition {
  const compares = order.map(({ compiled }) => orderOf(compiled.type))
  const isPeer = (left: Member, right: Member) =>
    compares.every((compare, at) => compare(left.keys[at] ?? null, right.keys[at] ?? null) === 0)
  const firstPeer: number[] = []
  for (const [at, member] of members.entries()) {
    const before = members[at - 1]
    firstPeer.push(before !== undefined && isPeer(before, member) ? (firstPeer[at - 1] ?? 0) : at)
  }
  const lastPeer = firstPeer.map(() => 0)
  for (let at = members.length - 1; at >= 0; at--)
    lastPeer[at] = firstPeer[at + 1] === firstPeer[at] ? (lastPeer[at + 1] ?? at) : at
  return { args: members.map(({ row }) => row), firstPeer, lastPeer }
}
