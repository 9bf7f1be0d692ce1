use std::collections::HashSet;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use opscope_cudbg::graph::{Graph, Operator, Value};
use opscope_debug::ModelId;
use opscope_tensor::DType;

use crate::support::{Lines, image};

/// A graph whose operators and values have these names, each operator with one value as input and output.
fn named(names: &[&str]) -> Graph {
    let value = |name: &&str| Value {
        name: (*name).into(),
        dtype: Some(DType::F32),
        shape: Some(vec![(*name).into(), "3".into()]),
        is_initializer: false,
    };
    let operator = |(index, name): (usize, &&str)| Operator {
        name: (*name).into(),
        op_type: (*name).into(),
        inputs: vec![None, Some(index as u32)],
        outputs: vec![Some(index as u32)],
    };
    Graph {
        model: ModelId(1),
        name: names.first().copied().unwrap_or_default().into(),
        operators: names.iter().enumerate().map(operator).collect(),
        values: names.iter().map(value).collect(),
    }
}

#[test]
fn names_that_a_file_may_have_are_names_that_debuggers_can_parse_and_no_two_are_the_same() {
    let long = "a".repeat(100_000);
    let names = [
        "",
        "",
        "\0",
        "a\0b",
        "a b",
        "a_b",
        "a\"b",
        "a'b",
        "a`b",
        "a(b)",
        "a:b",
        "a::b",
        "a\nb",
        "a\u{202e}b",
        "Größe",
        "名前",
        "12",
        "*1",
        "-x",
        "/layer/Add",
        "a.b",
        "a.b",
        "a.b.20",
        "a.b.21",
        &long,
        &long,
        "\u{7f}",
        "..",
        ".text",
        "$",
        "a@b",
    ];
    let graph = named(&names);
    let image = image(&graph);
    let file = object::File::parse(&image.relocated[..]).expect("an ELF file");
    let mut seen = HashSet::new();
    for symbol in file.symbols() {
        let name = symbol.name().expect("UTF-8");
        let mut signs = name.chars();
        assert!(signs.next().is_some_and(|first| first.is_ascii_alphabetic() || "_/".contains(first)), "{name:?}");
        assert!(signs.all(|sign| sign.is_ascii_alphanumeric() || "_./$".contains(sign)), "{name:?}");
        assert!(name.len() < 600 && seen.insert(name.to_owned()), "{name:?}");
    }
    assert_eq!(seen.len(), 2 * names.len());
    // The names from the file are beside them, unchanged.
    let raw = file.section_by_name(".opscope.operators").expect("the section").data().expect("its bytes");
    let mut rest = raw;
    for name in names {
        let (length, after) = rest.split_at(4);
        let (text, after) = after.split_at(u32::from_le_bytes(length.try_into().expect("four bytes")) as usize);
        assert_eq!(text, name.as_bytes());
        rest = after;
    }
    assert!(rest.is_empty());
    // No name breaks a line of the listing, and none contains control characters.
    assert_eq!(image.listing.text.lines().count(), names.len());
    assert!(image.listing.text.chars().all(|sign| sign == '\n' || !sign.is_control() && sign != '\u{202e}'));
    let lines = Lines::read(&image.relocated);
    assert!((1..=names.len() as u64).all(|line| lines.rows_of(line).len() == 3));
}

#[test]
fn a_model_without_operators_has_an_image() {
    let graph = named(&[]);
    let image = image(&graph);
    for bytes in [&image.relocated, &image.non_relocated] {
        let file = object::File::parse(&bytes[..]).expect("an ELF file");
        assert_eq!(file.symbols().count(), 0);
        assert!(file.section_by_name(".debug_info").is_some());
    }
    assert_eq!(image.listing.text, "");
}

#[test]
fn a_model_of_more_operators_than_a_symbol_has_bits_for_their_sections_has_an_image() {
    let names: Vec<String> = (0..70_000).map(|index| format!("node_{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let image = image(&named(&names));
    let file = object::File::parse(&image.relocated[..]).expect("an ELF file");
    assert!(file.section_by_name(".symtab_shndx").is_some());
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    for (index, symbol) in functions.enumerate().step_by(999) {
        let section = file.section_by_index(symbol.section_index().expect("a section")).expect("it exists");
        assert_eq!(section.name(), Ok(format!(".text.node_{index}").as_str()));
        assert_eq!(section.address(), symbol.address());
    }
}
