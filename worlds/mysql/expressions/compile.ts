/**
 * Compiles expressions: gives each its type, and a function that computes its value.
 *
 * Invariants
 * - NULL makes a comparison unknown; AND, OR, IN and CASE treat unknown as MySQL does.
 * - An operand is evaluated only where MySQL needs its value.
 * - An aggregate outside of the clauses that may have one is refused.
 */
import { sqlFailure } from '../database.ts'
import { groupMisuse, notSupported, refuse, unknownColumn, wrongColumns } from '../failure.ts'
import { isAggregate } from '../functions/aggregates.ts'
import { functionCall } from '../functions/functions.ts'
import { isWindowFunction } from '../functions/window-functions.ts'
import type { Call, Expression } from '../syntax/syntax.ts'
import { converted } from '../values/conversion.ts'
import {
  integerType,
  isTemporal,
  isTextual,
  nullType,
  type Type,
  textType,
  textTypeIn,
  unifiedType,
} from '../values/type.ts'
import { isTrue, toText, truth, type Value } from '../values/value.ts'
import { compileBinary, compileUnary } from './arithmetic.ts'
import { compileCast } from './cast.ts'
import { checkTemporal, comparatorOf } from './comparison.ts'
import { compileShift } from './interval.ts'
import { compileExists, compileScalarQuery } from './nested-query.ts'
import { matchesLike } from './pattern.ts'
import { type Compiled, conditionOf, type Scope } from './scope.ts'
import { compileIn, compileQuantified } from './subquery.ts'
import { systemVariable } from './system-variables.ts'

type Kind = Expression['kind']
type Compile<K extends Kind> = (expression: Extract<Expression, { kind: K }>, scope: Scope) => Compiled

const compilers: { readonly [K in Kind]: Compile<K> } = {
  literal: ({ value, type }) => ({ type, get: () => value, constant: { value } }),
  column: ({ table, name }, scope) => scope.column(table, name),
  variable: compileVariable,
  system: ({ name }, scope) => systemVariable(name, scope),
  assign: compileAssignment,
  call: compileCall,
  unary: compileUnary,
  binary: compileBinary,
  case: compileCase,
  in: compileIn,
  between: compileBetween,
  like: compileLike,
  is: compileIs,
  row: () => refuse(wrongColumns(1)),
  query: compileScalarQuery,
  exists: compileExists,
  quantified: compileQuantified,
  shift: compileShift,
  cast: compileCast,
  collate: compileCollate,
  default: () => refuse(notSupported('DEFAULT in an expression')),
  values: compileNewValue,
}

/** @throws StatementRefused where a name or function is unknown, or the types do not fit */
export function compile(expression: Expression, scope: Scope): Compiled {
  const compiler = compilers[expression.kind] as Compile<Kind>
  return compiler(expression as never, scope)
}

function compileVariable({ name }: { readonly name: string }, scope: Scope): Compiled {
  scope.markVolatile()
  const { variables } = scope.context
  const type = variables.get(name)?.type ?? nullType
  // How many decimal places a variable has is only known when it is read.
  const shown: Type = type.kind === 'decimal' ? { kind: 'decimal', scale: 30, natural: true } : type
  return { type: type.kind === 'null' ? textType : shown, get: () => variables.get(name)?.value ?? null }
}

function compileAssignment(
  { name, value }: { readonly name: string; readonly value: Expression },
  scope: Scope,
): Compiled {
  scope.markVolatile()
  const compiled = scope.compile(value)
  const { variables } = scope.context
  // Later mentions in the same statement have this type.
  if (!variables.has(name)) variables.set(name, { value: null, type: compiled.type })
  return {
    type: compiled.type,
    get: () => {
      const given = compiled.get()
      variables.set(name, { value: given, type: compiled.type })
      return given
    },
  }
}

function compileCase(
  { subject, branches, otherwise }: Extract<Expression, { kind: 'case' }>,
  scope: Scope,
): Compiled {
  const tested = subject === undefined ? undefined : scope.compile(subject)
  const cases = branches.map(([when, result]) => ({
    holds: tested === undefined ? conditionOf(scope.compile(when)) : equality(tested, scope.compile(when)),
    result: scope.compile(result),
  }))
  const last = otherwise === undefined ? undefined : scope.compile(otherwise)
  const type = unifiedType([
    ...cases.map(({ result }) => result.type),
    ...(last === undefined ? [] : [last.type]),
  ])
  return {
    type,
    get: () => {
      const chosen = cases.find(({ holds }) => holds())?.result ?? last
      return chosen === undefined ? null : converted(chosen.get(), chosen.type, type)
    },
  }
}

function equality(left: Compiled, right: Compiled): () => boolean {
  const compare = comparatorOf(left.type, right.type)
  return () => {
    const [a, b] = [left.get(), right.get()]
    return a !== null && b !== null && compare(a, b) === 0
  }
}

function compileBetween(
  { value, low, high, negated }: Extract<Expression, { kind: 'between' }>,
  scope: Scope,
): Compiled {
  const [tested, from, to] = [scope.compile(value), scope.compile(low), scope.compile(high)]
  for (const bound of [from, to]) checkTemporal(tested, bound)
  const types = [tested.type, from.type, to.type]
  const isMixed = types.some((type) => !isTextual(type)) && !types.some(isTemporal)
  // A number among texts makes numbers of all three.
  const kind: Type | undefined = isMixed ? unifiedNumber(types) : undefined
  const toLow = comparatorOf(kind ?? tested.type, kind ?? from.type)
  const toHigh = comparatorOf(kind ?? tested.type, kind ?? to.type)
  return {
    type: integerType,
    get: () => {
      const given = tested.get()
      if (given === null) return null
      const [least, most] = [from.get(), to.get()]
      const above = least === null ? undefined : toLow(given, least)
      const below = most === null ? undefined : toHigh(given, most)
      if ((above ?? 0) < 0 || (below ?? 0) > 0) return truth(negated)
      return above === undefined || below === undefined ? null : truth(!negated)
    },
  }
}

function unifiedNumber(types: readonly Type[]): Type {
  return types.some(isTextual) ? { kind: 'double', scale: 0 } : unifiedType(types)
}

function compileLike(
  { value, pattern, mark: escaping, negated }: Extract<Expression, { kind: 'like' }>,
  scope: Scope,
): Compiled {
  const [tested, like] = [scope.compile(value), scope.compile(pattern)]
  const mark = escaping === undefined ? undefined : scope.compile(escaping)
  const exact = [tested, like].some(({ type }) => type.binary || type.kind === 'bytes')
  return {
    type: integerType,
    get: () => {
      const [text, given] = [tested.get(), like.get()]
      if (text === null || given === null) return null
      const sign = mark?.get()
      if (typeof sign === 'string' && [...sign].length > 1)
        refuse(sqlFailure(1210, 'HY000', 'Incorrect arguments to ESCAPE'))
      const letter = sign === undefined || sign === null ? '\\' : toText(sign)
      const holds = matchesLike(toText(text, tested.type), toText(given, like.type), letter, exact)
      return truth(holds !== negated)
    },
  }
}

function compileIs({ operand, what, negated }: Extract<Expression, { kind: 'is' }>, scope: Scope): Compiled {
  const tested = scope.compile(operand)
  return {
    type: integerType,
    get: () => {
      const value = tested.get()
      const isNull = value === null
      const holds = what === 'NULL' ? isNull : !isNull && isTrue(value) === (what === 'TRUE')
      return truth(holds !== negated)
    },
  }
}

function compileCollate(
  { operand, collation }: Extract<Expression, { kind: 'collate' }>,
  scope: Scope,
): Compiled {
  const compiled = scope.compile(operand)
  const type = textTypeIn(collation)
  return {
    type,
    get: () => {
      const value = compiled.get()
      return value === null ? null : toText(value, compiled.type)
    },
  }
}

function compileNewValue({ column }: { readonly column: string }, scope: Scope): Compiled {
  const source = scope.newRow
  const lower = column.toLowerCase()
  const place = source?.columns.findIndex(({ name }) => name.toLowerCase() === lower) ?? -1
  if (source === undefined || place < 0) return refuse(unknownColumn(column, 'field list'))
  return { type: source.columns[place]?.type as Type, get: (): Value => source.row?.[place] ?? null }
}

/** Compiles calls: of aggregates and window functions where the clause has them, else of functions. */
function compileCall(call: Call, scope: Scope): Compiled {
  const { name } = call
  if (call.window !== undefined || isWindowFunction(name)) {
    if (scope.window !== undefined) return scope.window(call, scope)
    return refuse(
      sqlFailure(
        3593,
        'HY000',
        `You cannot use the window function '${name.toLowerCase()}' in this context.'`,
      ),
    )
  }
  if (isAggregate(name)) return (scope.aggregate ?? misused)(call, scope)
  return functionCall(
    name,
    call.args.map((arg) => scope.compile(arg)),
    scope,
  )
}

function misused(): never {
  return refuse(groupMisuse)
}
