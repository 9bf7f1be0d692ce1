# Whether tests that a page names exist and run. For `awk -v script=NAME -v root=REPOSITORY -f scripts/named-tests.awk -f PROGRAM`;
# the program prints its faults with `fault`, which counts them in `faults` and prints none with `-v quiet=1`.

# Whether `crates/NAME/.../FILE.rs::TEST`, `scripts/NAME` or `.ci/NAME` is there. Backquotes around it are allowed.
function exists_test(id, test,    at, file, name, last) {
    gsub(/^`|`$/, "", test)
    if (test ~ /(^|\/)\.\.(\/|$)/ || test ~ /[^A-Za-z0-9_.\/:-]/ || test == "")
        return fault(id " names no test that this check understands: \"" test "\"")
    if (test ~ /^(scripts|\.ci)\/[^:]+$/) {
        if (system("test -f \"" root "/" test "\" -a -x \"" root "/" test "\"") == 0) return 1
        return fault(id " names the script " test ", which is missing or cannot be executed")
    }
    at = index(test, "::")
    file = substr(test, 1, at - 1)
    name = substr(test, at + 2)
    while ((last = index(name, "::")) > 0) name = substr(name, last + 2)
    if (!at || file !~ /\.rs$/ || name !~ /^[a-z_][A-Za-z0-9_]*$/)
        return fault(id " names no test that this check understands: \"" test "\"")
    if (!(file in read)) read_tests(file)
    if (!read[file]) return fault(id " names " file ", which does not exist")
    if (!((file, name) in state)) return fault(id " names the test " name ", which " file " does not have")
    if (state[file, name] == "plain") return fault(id " names " name " in " file ", which is a function but no test")
    if (state[file, name] == "ignored") return fault(id " names " name " in " file ", which is ignored and so never runs")
    return 1
}

# Notes every function of a Rust file in `state`: a test (an attribute `#[test]` stands above it), ignored, or plain.
function read_tests(file,    line, got, is_test, is_ignored, name) {
    read[file] = 0
    while ((got = (getline line < (root "/" file))) > 0) {
        read[file] = 1
        sub(/^[ \t]+/, "", line)
        if (line ~ /^\/\//) continue
        if (line ~ /^#\[([a-z_]+::)*test\]/) is_test = 1
        if (line ~ /^#\[.*ignore/) is_ignored = 1
        if (!match(line, /^(#\[[^]]*\] *)*(pub(\([^)]*\))? +)?(const +|async +|unsafe +)*fn +/)) continue
        name = substr(line, RLENGTH + 1)
        sub(/[^A-Za-z0-9_].*$/, "", name)
        if (state[file, name] != "test") state[file, name] = is_ignored ? "ignored" : is_test ? "test" : "plain"
        is_test = is_ignored = 0
    }
    close(root "/" file)
}

function fault(message) {
    if (!quiet) print script ": " message > "/dev/stderr"
    faults++
    return 0
}

function bare(text) {
    text = trim(text)
    gsub(/^`|`$/, "", text)
    return text
}

function trim(text) {
    sub(/^[ \t]+/, "", text)
    sub(/[ \t\r]+$/, "", text)
    return text
}
