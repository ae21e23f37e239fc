/**
 * The part of the ONNX file format that the graphs need, encoded by protobufjs.
 *
 * Invariants
 * - Field names and numbers are those of `onnx.proto` (proto2), so any ONNX tool reads the bytes.
 * - The same model gives the same bytes.
 */
import protobuf from 'protobufjs'

/** Element types used by the graphs, with their number in `TensorProto.DataType`. */
export const elementTypes = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  bool: 9,
} as const

export type ElementType = keyof typeof elementTypes

/** A size, or the name of a size that is only known when the graph runs. */
export type Dimension = number | string

/** A tensor stored in the model; int64 data is a BigInt64Array, bool data one byte per element. */
export interface StoredTensor {
  readonly name: string
  readonly type: ElementType
  readonly dims: readonly number[]
  readonly data: Float32Array | Int32Array | BigInt64Array | Uint8Array
}

/** An attribute of an operator: integer, float, text, integers, a tensor, or the graph that it runs. */
export type Attribute =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly tensor: StoredTensor }
  | { readonly graph: Model }

export interface ModelNode {
  readonly operator: string
  /** '' is ONNX's own operator set. */
  readonly domain: string
  /** Names; '' leaves an optional input or output out. */
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes: Readonly<Record<string, Attribute>>
}

export interface ModelValue {
  readonly name: string
  readonly type: ElementType
  readonly dims: readonly Dimension[]
  /** A sequence of such tensors. */
  readonly sequence?: boolean
}

export interface Model {
  readonly nodes: readonly ModelNode[]
  readonly inputs: readonly ModelValue[]
  readonly outputs: readonly ModelValue[]
  readonly tensors: readonly StoredTensor[]
}

const schema = `
syntax = "proto2";
message ModelProto {
  optional int64 ir_version = 1;
  optional string producer_name = 2;
  optional GraphProto graph = 7;
  repeated OperatorSetIdProto opset_import = 8;
}
message OperatorSetIdProto { optional string domain = 1; optional int64 version = 2; }
message GraphProto {
  repeated NodeProto node = 1;
  optional string name = 2;
  repeated TensorProto initializer = 5;
  repeated ValueInfoProto input = 11;
  repeated ValueInfoProto output = 12;
}
message NodeProto {
  repeated string input = 1;
  repeated string output = 2;
  optional string name = 3;
  optional string op_type = 4;
  repeated AttributeProto attribute = 5;
  optional string domain = 7;
}
message AttributeProto {
  optional string name = 1;
  optional float f = 2;
  optional int64 i = 3;
  optional bytes s = 4;
  optional TensorProto t = 5;
  optional GraphProto g = 6;
  repeated int64 ints = 8;
  optional int32 type = 20;
}
message TensorProto {
  repeated int64 dims = 1;
  optional int32 data_type = 2;
  optional string name = 8;
  optional bytes raw_data = 9;
}
message ValueInfoProto { optional string name = 1; optional TypeProto type = 2; }
message TypeProto {
  message Tensor { optional int32 elem_type = 1; optional TensorShapeProto shape = 2; }
  message Sequence { optional TypeProto elem_type = 1; }
  optional Tensor tensor_type = 1;
  optional Sequence sequence_type = 4;
}
message TensorShapeProto {
  message Dimension { optional int64 dim_value = 1; optional string dim_param = 2; }
  repeated Dimension dim = 1;
}
`

const modelProto = protobuf.parse(schema, { keepCase: true }).root.lookupType('ModelProto')

/** The operator sets that the graphs are written in: ONNX 21 needs IR version 10. */
const irVersion = 10
const operatorSets = [
  { domain: '', version: 21 },
  { domain: 'com.microsoft', version: 1 },
]

const attributeTypes = { float: 1, int: 2, string: 3, tensor: 4, graph: 5, ints: 7 } as const

function tensorProto(tensor: StoredTensor): object {
  const { buffer, byteOffset, byteLength } = tensor.data
  return {
    dims: tensor.dims,
    data_type: elementTypes[tensor.type],
    name: tensor.name,
    raw_data: new Uint8Array(buffer, byteOffset, byteLength),
  }
}

function attributeProto(name: string, value: Attribute): object {
  if (typeof value === 'number') return { name, i: value, type: attributeTypes.int }
  if (typeof value === 'string')
    return { name, s: new TextEncoder().encode(value), type: attributeTypes.string }
  if ('float' in value) return { name, f: value.float, type: attributeTypes.float }
  if ('tensor' in value) return { name, t: tensorProto(value.tensor), type: attributeTypes.tensor }
  if ('graph' in value) return { name, g: graphProto(name, value.graph), type: attributeTypes.graph }
  return { name, ints: value, type: attributeTypes.ints }
}

function valueProto(value: ModelValue): object {
  const dim = value.dims.map((size) => (typeof size === 'number' ? { dim_value: size } : { dim_param: size }))
  const type = { tensor_type: { elem_type: elementTypes[value.type], shape: { dim } } }
  return { name: value.name, type: value.sequence ? { sequence_type: { elem_type: type } } : type }
}

function graphProto(name: string, { nodes, inputs, outputs, tensors }: Model): object {
  return {
    node: nodes.map((node) => ({
      input: node.inputs,
      output: node.outputs,
      name: node.outputs.find((output) => output !== '') ?? node.operator,
      op_type: node.operator,
      attribute: Object.entries(node.attributes).map(([key, value]) => attributeProto(key, value)),
      domain: node.domain,
    })),
    name,
    initializer: tensors.map(tensorProto),
    input: inputs.map(valueProto),
    output: outputs.map(valueProto),
  }
}

/** The bytes of an ONNX model. */
export function encodeModel(model: Model): Uint8Array {
  const message = modelProto.create({
    ir_version: irVersion,
    producer_name: 'perdure',
    graph: graphProto('policy', model),
    opset_import: operatorSets,
  })
  return modelProto.encode(message).finish()
}
