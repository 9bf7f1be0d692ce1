//! tract, the embedded engine, behind the border of `opscope-model`.
//!
//! * A model is loaded `Optimised` (by tract's passes, without the rewrites that change values) or `Exact` (`into_typed`,
//!   where each operator of the file is executed as it stands there). Runs know nothing of each other at either.
//! * Dynamic dimensions are fixed from the actual inputs before a plan is made, because plans with symbols are several
//!   times slower and some cannot run at all.
//! * Nodes are renamed before tract sees them, so that every name that tract derives leads back to one operator of the
//!   file, whatever the file called it.
//! * What tract lacks, and what would not fit into memory, is refused by name before tract sees it.
//! * What tract computes wrongly or slowly is computed by operators of ours, which take the place of tract's under the same name;
//!   fp16 is computed in fp32 and rounded.
//! * `Scan` and `If` are one dispatch each; a `Loop` is written out, iteration after iteration.
//! * A run that is watched goes node by node, so that between two of them everything that the plan holds can be seen. Only
//!   where shapes depend on what a run computes does tract keep that to itself.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports from rooms below it only:
//!
//! | room | what |
//! |---|---|
//! | `engine` | the engine and its models |
//! | `plan` | kernels, their attribution to operators, runs |
//! | `checks` | what is refused before tract sees it |
//! | `operators` | operators of ours in place of tract's |
//! | `optimise` | which rewrites of tract's are applied |
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
