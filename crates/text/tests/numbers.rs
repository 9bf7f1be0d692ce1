//! The displayed form of numbers, sizes and times, and the widths of tables, at every threshold.

use opscope_text::BarStyle::{Ascii, Blocks};
use opscope_text::Column::{Ends, Middles, Words};
use opscope_text::{
    TextTable, TimeScale, display_width, file_text, grouped, shortened, shown_duration, shown_number, shown_size,
    shown_text, shown_time,
};

#[test]
fn sizes_change_their_unit_where_they_round_to_a_power_of_1024() {
    for (bytes, shown) in [
        (1, "1 B"),
        (1023, "1023 B"),
        (1 << 10, "1.0 KiB"),
        ((1 << 20) - 1, "1.0 MiB"),
        (1 << 20, "1.0 MiB"),
        (3 << 29, "1.5 GiB"),
        (1 << 30, "1.0 GiB"),
        (1 << 40, "1.0 TiB"),
        (1 << 50, "1.0 PiB"),
        (1 << 60, "1.0 EiB"),
        (10 << 60, "10.0 EiB"),
        (1100, "1.1 KiB"),
    ] {
        assert_eq!(shown_size(bytes), shown);
    }
}

#[test]
fn durations_change_their_unit_at_each_thousand() {
    for (nanos, shown) in [
        (0.0, "0 ns"),
        (999.0, "999 ns"),
        (-999.0, "-999 ns"),
        (1000.0, "1.000 µs"),
        (999_999.0, "999.999 µs"),
        (1e6, "1.000 ms"),
        (999_999_000.0, "999.999 ms"),
        (1e9, "1.000 s"),
        (-1.5e12, "-1500.000 s"),
    ] {
        assert_eq!(shown_duration(nanos), shown);
    }
}

#[test]
fn numbers_have_three_digits_at_every_size() {
    for (number, shown) in [
        (0.0, "0.00"),
        (0.0004, "0.000"),
        (0.9994, "0.999"),
        (0.9996, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (-12.34, "-12.3"),
        (999.0, "999"),
        (1000.0, "1,000"),
        (1_234.0, "1,230"),
        (1_235.1, "1,240"),
        (12_345.0, "12,300"),
        (123_456.0, "123,000"),
        (1.5e9, "1,500,000,000"),
    ] {
        assert_eq!(shown_number(number), shown);
    }
    for (count, shown) in
        [(1, "1"), (12, "12"), (123, "123"), (1234, "1,234"), (12_345, "12,345"), (123_456, "123,456")]
    {
        assert_eq!(grouped(count), shown);
    }
    assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
}

#[test]
fn times_have_three_digits_and_the_unit_that_leaves_at_least_one() {
    for (nanos, shown) in [
        (1.0, "1 ns"),
        (999.0, "999 ns"),
        (1_000.0, "1.00 µs"),
        (12_340.0, "12.3 µs"),
        (123_400.0, "123 µs"),
        (999_400.0, "999 µs"),
        (999_700.0, "1.00 ms"),
        (12_340_000.0, "12.3 ms"),
        (999_700_000.0, "1.00 s"),
        (1e9, "1.00 s"),
        (123e9, "123 s"),
        (-2_500.0, "-2.50 µs"),
    ] {
        assert_eq!(shown_time(nanos), shown);
    }
    let scale = TimeScale::of(2e6);
    assert_eq!(
        (scale.number(500.0), scale.time(1.5e6), scale.number(1e9)),
        ("0.00".into(), "1.50 ms".into(), "1000.00".into())
    );
}

#[test]
fn a_bar_has_eighths_of_a_column() {
    let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█", "█▏"];
    for (number, bar) in eighths.into_iter().enumerate() {
        assert_eq!(Blocks.draw(number as f64 / 16.0, 2), bar);
    }
    // From half a column on, the bar has one more column.
    for (share, bar) in
        [(0.0, ""), (0.01, "#"), (0.34, "#"), (0.36, "##"), (0.59, "##"), (0.64, "###"), (0.99, "####"), (-1.0, "")]
    {
        assert_eq!(Ascii.draw(share, 4), bar, "{share}");
    }
    assert_eq!(Blocks.draw(f64::INFINITY, 3), "");
}

/// Returns a row of cells with these widths. The last column is the first to be omitted.
fn row(widths: &[usize], width: Option<usize>) -> String {
    let names: &[_] = match widths {
        [_, _] => &[Ends("a"), Words("c")],
        _ => &[Ends("a"), Middles("b"), Words("c")],
    };
    let mut table = TextTable::new(names).with_spare(&["c"]).without_titles();
    table.row(widths.iter().zip(["a", "b", "c"]).map(|(width, letter)| letter.repeat(*width)));
    let table = if let Some(width) = width { table.within(width) } else { table };
    table.text().trim_end().to_owned()
}

#[test]
fn a_column_is_left_out_where_the_first_name_would_have_less_than_24_columns_and_others_less_than_12() {
    let shows = |widths: &[usize], width| {
        let text = row(widths, width);
        text.split("  ").count() == widths.len()
    };
    // 24 + 2 + 54 are 80 columns.
    assert!(shows(&[99, 54], None) && !shows(&[99, 55], None));
    assert!(shows(&[99, 14], Some(40)) && !shows(&[99, 15], Some(40)));
    // 24 + 2 + 12 + 2 + 40.
    assert!(shows(&[99, 99, 40], None) && !shows(&[99, 99, 41], None));
    let both = row(&[99, 99, 40], None);
    assert_eq!(display_width(&both), 80);
    let cells: Vec<usize> = both.split("  ").map(display_width).collect();
    assert_eq!(cells, [18, 18, 40], "the widest is made narrower first");
}

#[test]
fn no_name_has_less_than_eight_columns() {
    let mut table = TextTable::new([Ends("name"), Words("rest")]).without_titles();
    table.row(["a".repeat(40), "c".repeat(75)]);
    assert_eq!(table.text(), format!("…aaaaaaa  {}\n", "c".repeat(75)));
    let mut table = TextTable::new([Ends("name"), Words("rest")]);
    table.row(["a".repeat(40), "c".repeat(60)]);
    let text = table.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], format!("name{}rest", " ".repeat(16)));
    assert_eq!((lines[1], display_width(lines[2])), ("─".repeat(80).as_str(), 80));
}

#[test]
fn a_name_that_is_shortened_keeps_a_third_of_its_beginning() {
    let name = "abcdefghijklmnopqrstuvwxyz";
    for (width, shown) in
        [(26, name), (25, "abcdefgh…klmnopqrstuvwxyz"), (10, "abc…uvwxyz"), (4, "a…yz"), (3, "…yz"), (1, "…"), (0, "…")]
    {
        assert_eq!(shortened(name, width), shown, "{width}");
    }
}

#[test]
fn a_file_name_has_120_bytes_at_most() {
    assert_eq!(file_text(&"x".repeat(120)).len(), 120);
    assert_eq!(file_text(&"x".repeat(121)).len(), 120);
    // Characters of three bytes.
    assert_eq!(file_text(&format!("xx{}", "卷".repeat(50))).len(), 119);
}

#[test]
fn what_is_not_seen_is_escaped_from_the_first_to_the_last_of_its_kind() {
    let kinds = [
        (0x0, 0x1f),
        (0x7f, 0x9f),
        (0xad, 0xad),
        (0x34f, 0x34f),
        (0x600, 0x605),
        (0x61c, 0x61c),
        (0x6dd, 0x6dd),
        (0x70f, 0x70f),
        (0x890, 0x891),
        (0x8e2, 0x8e2),
        (0x115f, 0x1160),
        (0x17b4, 0x17b5),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x2028, 0x202e),
        (0x2060, 0x206f),
        (0x3164, 0x3164),
        (0xfe00, 0xfe0f),
        (0xfeff, 0xfeff),
        (0xffa0, 0xffa0),
        (0xfff0, 0xfffb),
        (0x110bd, 0x110bd),
        (0x110cd, 0x110cd),
        (0x13430, 0x1343f),
        (0x1bca0, 0x1bca3),
        (0x1d173, 0x1d17a),
        (0xe0000, 0xe0fff),
    ];
    let unseen: Vec<u32> = (0..0x11_0000)
        .filter(|code| {
            char::from_u32(*code)
                .is_some_and(|letter| shown_text(letter.encode_utf8(&mut [0; 4])) != letter.to_string())
        })
        .collect();
    let expected: Vec<u32> = kinds.into_iter().flat_map(|(first, last)| first..=last).collect();
    assert_eq!(unseen, expected);
}
