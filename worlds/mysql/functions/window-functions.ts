/**
 * MySQL's window functions over one ordered partition.
 *
 * Invariants
 * - A frame without bounds reaches from the first row to the last peer of the current one.
 */
import { sqlFailure } from '../database.ts'
import type { Compiled } from '../expressions/scope.ts'
import { notSupported, refuse, wrongArguments } from '../failure.ts'
import type { Call, Frame } from '../syntax/syntax.ts'
import { converted } from '../values/conversion.ts'
import { doubleType, integerType, type Type, unifiedType } from '../values/type.ts'
import { toWhole, type Value } from '../values/value.ts'
import { type Aggregate, aggregateOf } from './aggregates.ts'

/** A partition in its order: for each row its arguments, and the first and last of its peers. */
export interface Partition {
  readonly args: readonly (readonly Value[])[]
  readonly firstPeer: readonly number[]
  readonly lastPeer: readonly number[]
}

export interface WindowFunction {
  readonly type: Type
  /** The value of each row of a partition. */
  values(partition: Partition): readonly Value[]
}

type Make = (call: Call, args: readonly Compiled[], frame: Frame | undefined) => WindowFunction

function each(type: Type, value: (at: number, partition: Partition) => Value): WindowFunction {
  return { type, values: (partition) => partition.args.map((_, at) => value(at, partition)) }
}

function ranking(value: (at: number, partition: Partition) => Value, type = integerType): Make {
  return (call, args) => {
    if (args.length > 0) refuse(wrongArguments(call.name))
    return each(type, value)
  }
}

function denseRank(at: number, { firstPeer }: Partition): bigint {
  return BigInt(new Set(firstPeer.slice(0, at + 1)).size)
}

function tiles(call: Call, [count]: readonly Compiled[]): WindowFunction {
  const value = count?.constant?.value
  if (value === null || value === undefined || toWhole(value) < 1n)
    refuse(sqlFailure(1210, 'HY000', `Incorrect arguments to ${call.name.toLowerCase()}`))
  const wanted = Number(toWhole(value))
  return each(integerType, (at, { args }) => {
    const size = Math.floor(args.length / wanted)
    const larger = args.length % wanted
    const start = larger * (size + 1)
    return BigInt((at < start ? Math.floor(at / (size + 1)) : larger + Math.floor((at - start) / size)) + 1)
  })
}

/** LAG and LEAD. */
function shifted(sign: 1 | -1): Make {
  return (call, args) => {
    const [value, distance, otherwise] = args
    if (value === undefined || args.length > 3) return refuse(wrongArguments(call.name))
    const type = otherwise === undefined ? value.type : unifiedType([value.type, otherwise.type])
    return each(type, (at, partition) => {
      const own = partition.args[at] ?? []
      const steps = distance === undefined ? 1 : Number(toWhole(own[1] ?? 0n))
      const other = partition.args[at + sign * steps]
      if (other === undefined)
        return otherwise === undefined ? null : converted(own[2] ?? null, otherwise.type, type)
      return converted(other[0] ?? null, value.type, type)
    })
  }
}

/** First and last row of a row's frame; last before first where it is empty. */
function boundsOf(frame: Frame | undefined, at: number, partition: Partition): readonly [number, number] {
  const last = partition.args.length - 1
  if (frame === undefined) return [0, partition.lastPeer[at] ?? at]
  const peers = frame.unit === 'RANGE'
  const from = frame.from === 0 && peers ? (partition.firstPeer[at] ?? at) : at + frame.from
  const to = frame.to === 0 && peers ? (partition.lastPeer[at] ?? at) : at + frame.to
  return [Math.max(0, from), Math.min(last, to)]
}

/** FIRST_VALUE, LAST_VALUE and NTH_VALUE. */
function framed(pick: (from: number, to: number, at: readonly Value[]) => number): Make {
  return (call, args, frame) => {
    const [value] = args
    if (value === undefined) return refuse(wrongArguments(call.name))
    return each(value.type, (at, partition) => {
      const [from, to] = boundsOf(frame, at, partition)
      const place = pick(from, to, partition.args[at] ?? [])
      return place < from || place > to ? null : (partition.args[place]?.[0] ?? null)
    })
  }
}

function aggregated(call: Call, args: readonly Compiled[], frame: Frame | undefined): WindowFunction {
  if (call.distinct) refuse(notSupported('<window function>(DISTINCT ..)'))
  if (call.name === 'GROUP_CONCAT') refuse(notSupported('GROUP_CONCAT with OVER clause'))
  const aggregate: Aggregate = aggregateOf(call, args)
  return {
    type: aggregate.type,
    values: (partition) => {
      let accumulator = aggregate.start()
      let [first, next] = [0, 0]
      return partition.args.map((_, at) => {
        const [from, to] = boundsOf(frame, at, partition)
        // A frame that only grows is not added up again.
        if (from !== first || to + 1 < next) {
          accumulator = aggregate.start()
          first = from
          next = from
        }
        for (; next <= to; next++) accumulator.add(partition.args[next] ?? [])
        return accumulator.result()
      })
    },
  }
}

const makers: Readonly<Record<string, Make>> = {
  ROW_NUMBER: ranking((at) => BigInt(at + 1)),
  RANK: ranking((at, { firstPeer }) => BigInt((firstPeer[at] ?? at) + 1)),
  DENSE_RANK: ranking(denseRank),
  PERCENT_RANK: ranking(
    (at, { args, firstPeer }) => (args.length < 2 ? 0 : (firstPeer[at] ?? at) / (args.length - 1)),
    doubleType,
  ),
  CUME_DIST: ranking((at, { args, lastPeer }) => ((lastPeer[at] ?? at) + 1) / args.length, doubleType),
  NTILE: tiles,
  LAG: shifted(-1),
  LEAD: shifted(1),
  FIRST_VALUE: framed((from) => from),
  LAST_VALUE: framed((_, to) => to),
  NTH_VALUE: framed((from, _, [, place]) => from + Number(toWhole(place ?? 1n)) - 1),
}

/** Whether it may only be called over a window. */
export function isWindowFunction(name: string): boolean {
  return Object.hasOwn(makers, name)
}

export function windowFunction(call: Call, args: readonly Compiled[], frame?: Frame): WindowFunction {
  return (makers[call.name] ?? aggregated)(call, args, frame)
}
