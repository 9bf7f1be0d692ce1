//! tract, the embedded engine, behind the border of `opscope-model`.
//!
//! * A model is loaded `Optimised` (by tract's passes, without the rewrites that change values) or `Exact`
//!   (`into_typed`, which executes each operator as the file has it). At either fidelity, runs are independent of each
//!   other.
//! * Dynamic dimensions are fixed from the actual inputs before a plan is made, because plans with symbols are several
//!   times slower and some cannot run at all.
//! * Nodes are renamed before tract sees them, so that every name that tract derives leads back to one operator of the
//!   file, whatever its name there.
//! * What tract lacks, and what would not fit into memory, is refused by name before tract sees it.
//! * What tract computes wrongly or slowly is computed by this crate's operators, which replace tract's under the same
//!   names; fp16 is computed in fp32 and rounded.
//! * `Scan` and `If` are one dispatch each; a `Loop` is unrolled, iteration by iteration.
//! * An observed run executes node by node, so everything that the plan holds is visible between two nodes. tract hides
//!   its values only if shapes depend on what a run computes.
//!
//! # Rooms
//!
//! Each file or folder is a room. It imports only from the rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `engine` | the engine and its models |
//! | `plan` | kernels, their attribution to operators, runs |
//! | `checks` | reasons to refuse a model before tract sees it |
//! | `operators` | this crate's operators in place of tract's |
//! | `optimise` | the rewrites of tract that are applied |
//! | `rewrite` | how a file is rewritten before tract reads it |
//! | `arithmetic` | products and functions of many numbers, for the machine's widest vectors |
//! | `budget` | time and memory for loading; panics as errors |
//! | `tensors` | tensors on both sides of the border |
//! | `names` | names that lead back to the file |

#![forbid(unsafe_code)]

mod arithmetic;
mod budget;
mod checks;
mod engine;
mod names;
mod operators;
mod optimise;
mod plan;
mod rewrite;
mod tensors;

pub use engine::TractEngine;
