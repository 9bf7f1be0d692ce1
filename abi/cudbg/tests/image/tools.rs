//! What other programs read in an image, if they are installed.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use opscope_cudbg::addresses;
use opscope_cudbg::graph::Graph;
use opscope_debug::Moment;
use opscope_model::testing::skipped;

use crate::support::{Made, image_of};

/// Runs a program. If it is not installed, this part of the test is skipped.
fn run(command: &mut Command) -> Option<Output> {
    match command.env("LC_ALL", "C").output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skipped(format_args!("{} is not installed", command.get_program().display()));
            None
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

/// Writes the images of a model into files, which exist as long as the image. Returns the relocated one first.
fn files(model: &str) -> (Graph, Made, [PathBuf; 2]) {
    let (graph, image) = image_of(model);
    let path = |name: &str| image.listing.directory.join(name);
    let paths = [path("relocated.elf"), path("other.elf")];
    for (path, bytes) in paths.iter().zip([&image.relocated, &image.non_relocated]) {
        fs::write(path, bytes).expect("a file");
    }
    (graph, image, paths)
}

#[test]
fn readelf_finds_nothing_wrong_in_either_image() {
    let (graph, _image, paths) = files("digits_cnn");
    for path in &paths {
        for tool in ["readelf", "llvm-readelf"] {
            let Some(output) = run(Command::new(tool).args(["--all", "--wide"]).arg(path)) else { continue };
            assert!(output.status.success() && output.stderr.is_empty(), "{tool}: {output:?}");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(graph.operators.iter().all(|operator| text.contains(&operator.name)));
        }
        let Some(output) = run(Command::new("readelf").arg("--debug-dump=info,decodedline,Ranges").arg(path)) else {
            continue;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        // readelf does not know how files for CUDA are relocated. Only the second image has relocations.
        let known = |line: &&str| line.contains("reloc type") && path == &paths[1];
        let said: Vec<_> = said.lines().filter(|line| !known(line)).collect();
        assert!(said.is_empty(), "{said:?}");
    }
}

#[test]
fn a_symbolizer_names_the_operator_and_its_line_at_an_address() {
    let (graph, _image, [path, _]) = files("tiny_transformer");
    let places =
        (0..graph.operators.len()).flat_map(|index| [Moment::Before, Moment::After].map(|moment| (index, moment)));
    let addresses =
        places.clone().map(|(index, moment)| format!("{:#x}", addresses::operator(graph.model, index as u32, moment)));
    let addresses: Vec<_> = addresses.collect();
    for tool in ["llvm-symbolizer", "addr2line"] {
        let Some(output) = run(Command::new(tool).args(["-f", "-e"]).arg(&path).args(&addresses)) else { continue };
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().filter(|line| !line.is_empty());
        for (index, _) in places.clone() {
            assert_eq!(lines.next(), Some(graph.operators[index].name.as_str()), "{tool}");
            let place = lines.next().expect("a line");
            assert!(place.contains(&format!(".txt:{}", index + 1)), "{tool}: {place}");
        }
        assert_eq!(lines.next(), None);
    }
}

#[test]
fn gdb_stops_exactly_at_an_operator_and_shows_its_line() {
    let (graph, _image, [path, _]) = files("digits_cnn");
    let last = graph.operators.len() - 1;
    let address = format!("{:#x}", addresses::operator(graph.model, last as u32, Moment::Before));
    let mut command = Command::new("gdb");
    // gdb supports no CUDA device. Unless its architecture has 64 bits, it would cut addresses to 32 bits.
    command
        .args(["--batch", "--nx", "-ex", "set architecture i386:x86-64", "-ex"])
        .arg(format!("file {}", path.display()));
    for line in [
        format!("break {}", graph.operators[last].name),
        format!("list *{address}"),
        format!("ptype '{}'", graph.operators[last].name),
        "ptype 'conv1.weight'".to_owned(),
        "print sizeof('conv1.weight')".to_owned(),
    ] {
        command.arg("-ex").arg(line);
    }
    let Some(output) = run(&mut command) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&format!("Breakpoint 1 at {address}: file ")), "{output:?}");
    assert!(text.contains(&format!("line {}.", last + 1)), "{text}");
    assert!(text.contains(&format!("#{last} Softmax /Softmax: ")), "{text}");
    assert!(text.contains("type = float [8][1][3][3]") && text.contains("= 288"), "{text}");
}
