/**
 * Statements as they are read: expressions, queries and changes.
 *
 * Invariants
 * - Names are as they were written; upper case is only given to functions, operators and units.
 */
import type { Type } from '../values/type.ts'
import type { Value } from '../values/value.ts'

export type Expression =
  | { readonly kind: 'literal'; readonly value: Value; readonly type: Type }
  | { readonly kind: 'column'; readonly table?: string | undefined; readonly name: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'system'; readonly name: string }
  | { readonly kind: 'assign'; readonly name: string; readonly value: Expression }
  | Call
  | { readonly kind: 'unary'; readonly operator: '-' | '~' | 'NOT' | 'BINARY'; readonly operand: Expression }
  | Binary
  | CaseOf
  | {
      readonly kind: 'in'
      readonly value: Expression
      readonly members: readonly Expression[] | Query
      readonly negated: boolean
    }
  | {
      readonly kind: 'between'
      readonly value: Expression
      readonly low: Expression
      readonly high: Expression
      readonly negated: boolean
    }
  | {
      readonly kind: 'like'
      readonly value: Expression
      readonly pattern: Expression
      readonly mark?: Expression | undefined
      readonly negated: boolean
    }
  | {
      readonly kind: 'is'
      readonly operand: Expression
      readonly what: 'NULL' | 'TRUE' | 'FALSE'
      readonly negated: boolean
    }
  | { readonly kind: 'row'; readonly members: readonly Expression[] }
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'exists'; readonly query: Query }
  | {
      readonly kind: 'quantified'
      readonly operator: string
      readonly left: Expression
      readonly all: boolean
      readonly query: Query
    }
  | {
      readonly kind: 'shift'
      readonly moment: Expression
      readonly count: Expression
      readonly unit: string
      readonly negative: boolean
    }
  | { readonly kind: 'cast'; readonly operand: Expression; readonly to: CastType }
  | { readonly kind: 'collate'; readonly operand: Expression; readonly collation: Collation }
  | { readonly kind: 'default'; readonly column?: string | undefined }
  | { readonly kind: 'values'; readonly column: string }

export interface Call {
  readonly kind: 'call'
  readonly name: string
  readonly args: readonly Expression[]
  readonly distinct?: boolean
  readonly star?: boolean
  readonly order?: readonly OrderTerm[]
  readonly separator?: string
  readonly window?: Window | string
}

export interface Binary {
  readonly kind: 'binary'
  readonly operator: string
  readonly left: Expression
  readonly right: Expression
  /** As it was written, for messages. */
  readonly text: string
}

export interface CaseOf {
  readonly kind: 'case'
  readonly subject?: Expression | undefined
  readonly branches: readonly (readonly [Expression, Expression])[]
  readonly otherwise?: Expression | undefined
}

/** @param length characters of CHAR, digits of DECIMAL */
export interface CastType {
  readonly name: string
  readonly length?: number | undefined
  readonly scale?: number | undefined
}

export interface OrderTerm {
  readonly expression: Expression
  readonly descending: boolean
}

export interface Window {
  readonly base?: string | undefined
  readonly partition: readonly Expression[]
  readonly order: readonly OrderTerm[]
  readonly frame?: Frame | undefined
}

export interface Frame {
  readonly unit: 'ROWS' | 'RANGE'
  readonly from: FrameBound
  readonly to: FrameBound
}

/** So many rows from the current one, negative before it; infinite where it is unbounded. */
export type FrameBound = number

export interface SelectItem {
  readonly expression?: Expression
  /** `*` or `table.*`. */
  readonly star?: { readonly table?: string | undefined }
  /** The alias, or the text as it was written. */
  readonly name: string
  readonly aliased: boolean
}

export type TableReference =
  | {
      readonly kind: 'table'
      readonly schema?: string | undefined
      readonly name: string
      readonly alias: string
    }
  | {
      readonly kind: 'derived'
      readonly query: Query
      readonly alias: string
      readonly columns: readonly string[]
    }
  | Join

export interface Join {
  readonly kind: 'join'
  readonly side: 'inner' | 'left' | 'right'
  readonly left: TableReference
  readonly right: TableReference
  readonly on?: Expression | undefined
  readonly using?: readonly string[] | undefined
  readonly natural: boolean
}

export interface Select {
  readonly kind: 'select'
  readonly distinct: boolean
  readonly items: readonly SelectItem[]
  readonly from?: TableReference | undefined
  readonly where?: Expression | undefined
  readonly group: readonly Expression[]
  readonly rollup: boolean
  readonly having?: Expression | undefined
  readonly windows: ReadonlyMap<string, Window>
}

export interface Limit {
  readonly count: Expression
  readonly offset?: Expression | undefined
}

export type QueryBody =
  | Select
  | { readonly kind: 'values'; readonly rows: readonly (readonly Expression[])[] }
  | { readonly kind: 'nested'; readonly query: Query }
  | {
      readonly kind: 'union'
      readonly operator: 'UNION' | 'EXCEPT' | 'INTERSECT'
      readonly all: boolean
      readonly left: QueryBody
      readonly right: QueryBody
    }

export interface CommonTable {
  readonly name: string
  readonly columns: readonly string[]
  readonly query: Query
}

export interface Query {
  readonly with: readonly CommonTable[]
  readonly recursive: boolean
  readonly body: QueryBody
  readonly order: readonly OrderTerm[]
  readonly limit?: Limit | undefined
}

export interface Assignment {
  readonly table?: string | undefined
  readonly column: string
  readonly value: Expression
}

export interface ColumnDefinition {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
  readonly default?: Expression | undefined
  readonly autoIncrement: boolean
  readonly key?: 'primary' | 'unique' | undefined
  readonly check?: Expression | undefined
}

/** How texts compare. */
export interface Collation {
  readonly binary: boolean
  /** Whether spaces at the end do not count. */
  readonly padded?: boolean
}

export interface ColumnType extends Collation {
  /** As SHOW prints it: `varchar(20)`, `int unsigned`. */
  readonly text: string
  readonly name: string
  readonly length?: number | undefined
  readonly scale?: number | undefined
  readonly unsigned: boolean
}

export interface KeyDefinition {
  readonly name?: string | undefined
  readonly kind: 'primary' | 'unique' | 'index'
  readonly columns: readonly string[]
}

export type Alteration =
  | { readonly kind: 'add'; readonly column: ColumnDefinition; readonly place?: Place | undefined }
  | {
      readonly kind: 'change'
      readonly from: string
      readonly column: ColumnDefinition
      readonly place?: Place | undefined
    }
  | { readonly kind: 'drop'; readonly column: string }
  | { readonly kind: 'rename column'; readonly from: string; readonly to: string }
  | { readonly kind: 'rename'; readonly to: string }
  | { readonly kind: 'add key'; readonly key: KeyDefinition }
  | { readonly kind: 'drop key'; readonly name: string }
  | { readonly kind: 'default'; readonly column: string; readonly value?: Expression | undefined }
  | { readonly kind: 'nothing' }

export type Place = 'first' | { readonly after: string }

export interface Insert {
  readonly kind: 'insert'
  readonly replaces: boolean
  readonly ignores: boolean
  readonly table: string
  readonly columns?: readonly string[] | undefined
  readonly source: Query | readonly (readonly Expression[])[]
  readonly duplicate: readonly Assignment[]
}

export type Statement =
  | { readonly kind: 'query'; readonly query: Query }
  | Insert
  | {
      readonly kind: 'update'
      readonly from: TableReference
      readonly assignments: readonly Assignment[]
      readonly where?: Expression | undefined
      readonly order: readonly OrderTerm[]
      readonly limit?: Limit | undefined
    }
  | {
      readonly kind: 'delete'
      readonly targets: readonly string[]
      readonly from: TableReference
      readonly where?: Expression | undefined
      readonly order: readonly OrderTerm[]
      readonly limit?: Limit | undefined
    }
  | { readonly kind: 'truncate'; readonly table: string }
  | CreateTable
  | {
      readonly kind: 'create view'
      readonly name: string
      readonly replaces: boolean
      readonly columns: readonly string[]
      readonly query: Query
      readonly text: string
    }
  | { readonly kind: 'create index'; readonly table: string; readonly key: KeyDefinition }
  | { readonly kind: 'drop index'; readonly table: string; readonly name: string }
  | {
      readonly kind: 'drop'
      readonly what: 'table' | 'view'
      readonly names: readonly string[]
      readonly ifExists: boolean
    }
  | { readonly kind: 'alter'; readonly table: string; readonly alterations: readonly Alteration[] }
  | { readonly kind: 'rename'; readonly pairs: readonly (readonly [string, string])[] }
  | { readonly kind: 'show'; readonly query: Query; readonly existing?: string | undefined }
  | { readonly kind: 'show create'; readonly table: string }
  | { readonly kind: 'set'; readonly settings: readonly Setting[] }
  | { readonly kind: 'transaction'; readonly action: TransactionAction; readonly name?: string | undefined }
  | { readonly kind: 'do'; readonly expressions: readonly Expression[] }
  | { readonly kind: 'use'; readonly name: string }

export type TransactionAction = 'begin' | 'commit' | 'rollback' | 'savepoint' | 'rollback to' | 'release'

export interface Setting {
  readonly scope: 'user' | 'system'
  readonly name: string
  readonly value: Expression
}

export interface CreateTable {
  readonly kind: 'create table'
  readonly name: string
  readonly temporary: boolean
  readonly ifNotExists: boolean
  readonly columns: readonly ColumnDefinition[]
  readonly keys: readonly KeyDefinition[]
  readonly checks: readonly Expression[]
  readonly like?: string | undefined
  readonly query?: Query | undefined
}
