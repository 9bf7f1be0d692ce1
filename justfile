# What is typed daily. `just` lists it; https://just.systems installs it, and nothing needs it: each recipe is the command itself.

# Lists the recipes.
default:
    @just --list --unsorted

# Runs the tests that need no engine, in less than two minutes.
quick:
    cargo test -p opscope-clock -p opscope-text -p opscope-files -p opscope-tensor -p opscope-trace --lib

# Runs all tests, or those of one file: just test contexts
test FILE="":
    ORT_DYLIB_PATH=$(scripts/onnxruntime) cargo test --workspace {{ if FILE == "" { "" } else { "--test " + FILE } }}

# Formats, lints, documents, and checks the plan of the house: what a change needs before it is proposed.
check:
    cargo fmt
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
    scripts/check-house
    scripts/check-seeds
    scripts/check-claims

# Writes opscope.h, and the headers of the other libraries, anew.
headers:
    UPDATE_HEADERS=1 cargo test --workspace --test header

# Runs everything that must hold of a commit, in 45 minutes.
ci:
    .ci/run

# Runs the benchmarks of a group, such as records; without one, all.
bench GROUP="":
    scripts/bench {{ GROUP }}

# Fuzzes every reader of foreign bytes for some seconds each.
fuzz SECONDS="60":
    scripts/fuzz {{ SECONDS }}

# Checks that the workspace builds for aarch64, and runs some tests in an emulator.
aarch64:
    scripts/check-aarch64

# Installs the command and the libraries.
install PREFIX="~/.local":
    scripts/install {{ PREFIX }}

# Runs the command: just run benchmark models/digits_cnn.onnx
run *ARGUMENTS:
    cargo run --release -p opscope-cli -- {{ ARGUMENTS }}
