use super::*;

fn node(name: &str, kind: NodeKind) -> Node {
    Node {
        name: name.to_owned(),
        op_type: "Conv".to_owned(),
        kind,
        modules: vec!["/encoder".to_owned(), "/layer.3".to_owned()],
        source: None,
        takes: Vec::new(),
        gives: Vec::new(),
        values: Vec::new(),
    }
}

fn edge(from: usize, to: usize, value: usize, shape: &str) -> Edge {
    Edge { from, to, value, shape: shape.to_owned() }
}

/// Returns the lines of a level of two nodes, which are the nodes 10 and 11 of the graph, and the ports that were
/// added.
fn lines(edges: &[Edge]) -> (Vec<(usize, usize, String)>, Vec<String>) {
    let edges: Vec<&Edge> = edges.iter().collect();
    let drawn = Drawn::new(DrawnKind::Operator, "Conv", String::new(), Vec::new());
    let mut nodes = vec![drawn.clone(), drawn];
    let lines = joined(&edges, &HashMap::from([(10, 0), (11, 1)]), &mut nodes);
    let label = |line: Line| (line.from, line.to, line.label.map_or_else(String::new, |(_, label)| label));
    (lines.into_iter().map(label).collect(), nodes.drain(2..).flat_map(|port| port.about).collect())
}

#[test]
fn a_value_that_enters_or_leaves_a_module_has_a_port_of_its_own() {
    let edges = [
        edge(9, 10, 1, "1×3"),
        edge(9, 11, 1, "1×3"),
        edge(10, 11, 2, ""),
        edge(11, 20, 3, "8"),
        // Edges beside the module, and within a member.
        edge(9, 20, 4, "9"),
        edge(10, 10, 5, "9"),
    ];
    let (lines, ports) = lines(&edges);
    let line = |from, to, label: &str| (from, to, label.to_owned());
    assert_eq!(lines, [line(0, 1, ""), line(1, 3, "8"), line(2, 0, "1×3"), line(2, 1, "1×3")]);
    assert_eq!(ports, ["a value that enters the module", "a value that leaves the module"]);
}

#[test]
fn more_than_five_values_share_a_port_and_a_line() {
    let entering = |values: usize| -> Vec<Edge> { (0..values).map(|value| edge(9, 10, value, "1")).collect() };
    let (five, ports) = lines(&entering(5));
    assert_eq!((five.len(), ports.len()), (5, 5));
    let (six, ports) = lines(&entering(6));
    assert_eq!((six, ports), (vec![(2, 0, "6 values".to_owned())], vec!["6 values that enter the module".to_owned()]));
    let leaving: Vec<Edge> = (0..7).map(|value| edge(11, 30, value, "1")).collect();
    let (seven, ports) = lines(&leaving);
    assert_eq!(
        (seven, ports),
        (vec![(1, 2, "7 values".to_owned())], vec!["7 values that leave the module".to_owned()])
    );
}

#[test]
fn a_node_is_as_wide_as_what_stands_on_it_in_steps_of_a_dozen() {
    // Capitals, m, w, % and @ count 1.3, and letters as wide as Hangul's Jamo or Chinese count 2.
    let widths = ["", "abc", "AmwZ%@", "a\u{10ff}", "a\u{1100}", "中文"].map(|text| letters(text, 10.0));
    let expected = [0.0, 30.0, 78.0, 20.0, 30.0, 40.0];
    assert!(widths.iter().zip(expected).all(|(found, width)| (found - width).abs() < 1e-9), "{widths:?}");
    let width = |label: &str, note: &str| Drawn::new(DrawnKind::Operator, label, note.to_owned(), Vec::new()).width;
    // 64 at least, which is 72. 13.9 x 7.6 + 22 is 127.64. 18.3 x 6.4 + 22 is 139.12. Ten digits are 98.
    assert_eq!(width("a", ""), 72);
    assert_eq!(width("MatMulInteger", "1.0 µs"), 132);
    assert_eq!(width("Conv", "1.500 µs · 12.50 %"), 144);
    assert_eq!(width("1234567890", ""), 108);
    let drawn = Drawn::new(DrawnKind::Operator, &"x".repeat(29), "y".repeat(41), Vec::new());
    assert_eq!((drawn.label.chars().count(), drawn.note.chars().count()), (28, 40));
    assert_eq!(drawn.size(), (drawn.width, 40));
    assert_eq!(Drawn::new(DrawnKind::Port, "", String::new(), Vec::new()).size(), (10, 10));
}

#[test]
fn below_a_label_stands_what_matters_most_of_a_node() {
    let (time, bad) = (Mark { nanos: Some(1_500.0), percent: 12.5, nan: 1, ..Mark::default() }, Mark::default());
    assert_eq!(note(&time).as_deref(), Some("1.500 µs · 12.50 %"));
    let of = |nan, inf, error, range| note(&Mark { nan, inf, error, range, ..bad.clone() });
    assert_eq!(of(2, 3, Some(0.5), None).as_deref(), Some("2 NaN"));
    assert_eq!(of(0, 3, Some(0.5), None).as_deref(), Some("3 infinite"));
    assert_eq!(of(0, 0, Some(0.5), Some((1.0, 2.0))).as_deref(), Some("differs by 0.5000"));
    assert_eq!(of(0, 0, Some(f64::INFINITY), None).as_deref(), Some("differs, without a size"));
    assert_eq!(of(0, 0, None, Some((-1.0, 2.0))).as_deref(), Some("-1.000 to 2.000"));
    assert_eq!(note(&Mark { fused_into: Some("/a".to_owned()), ..bad.clone() }).as_deref(), Some("fused"));
    assert_eq!(note(&bad), None);
}

#[test]
fn there_is_a_line_for_the_name_the_type_and_the_shapes_that_are_known() {
    let mut conv = node("/encoder/layer.3/Conv", NodeKind::Operator);
    (conv.takes, conv.gives) = (vec!["1×3".to_owned(), "8".to_owned()], vec!["float32 1×8".to_owned()]);
    let lines = |node: &Node| about(node, &Mark { inf: 2, ..Mark::default() });
    let name = ["/encoder/layer.3/Conv", "Conv in encoder/layer.3"];
    assert_eq!(lines(&conv), [&name[..], &["0 NaN, 2 infinite", "takes 1×3, 8", "gives float32 1×8"]].concat());
    conv.source = Some("model.py:7".to_owned());
    conv.takes[1] = String::new();
    conv.gives.clear();
    assert_eq!(lines(&conv), [&name[..], &["model.py:7", "0 NaN, 2 infinite"]].concat());
    conv.modules.clear();
    assert_eq!(lines(&conv)[1], "Conv");
}

#[test]
fn a_picture_has_levels_within_each_other_and_their_times_together() {
    let inside = |name: &str, module: &str| Node { modules: vec![module.to_owned()], ..node(name, NodeKind::Operator) };
    let plain = |name: &str, kind| Node { modules: Vec::new(), ..node(name, kind) };
    let mut input = plain("x", NodeKind::Input);
    input.gives = vec!["float32 2×3".to_owned()];
    let mut output = plain("y", NodeKind::Output);
    output.takes = vec!["float32 4".to_owned()];
    let nodes = vec![
        input,
        inside("/a/1", "/a"),
        inside("/a/2", "/a"),
        plain("/b", NodeKind::Operator),
        inside("/c/1", "/c"),
        inside("/c/2", "/c"),
        output,
    ];
    let edges = (0..6).map(|at| edge(at, at + 1, at, "2×3")).collect();
    let graph = ModelGraph { nodes, edges, constant: 3 };
    let mut marks = Marks::default();
    marks.add_times("/a/1", (1_000.0, 1_000.0), 10.0, &["/a/2".to_owned()]);
    marks.add_times("/b", (4_000.0, 4_000.0), 40.0, &[]);
    marks.add_times("/c/1", (3_000.0, 1_500.0), 15.0, &[]);
    marks.add_times("/c/2", (2_000.0, 2_000.0), 20.0, &[]);
    let picture = Picture::of(&graph, &marks);
    assert_eq!((picture.operators, picture.constant, &picture.colourings[..]), (5, 3, &[Colouring::Time][..]));
    let of = |drawn: &Drawn| (drawn.label.clone(), drawn.note.clone());
    let shown: Vec<(String, String)> = picture.level.nodes.iter().map(of).collect();
    let expected = [
        ("x", "float32 2×3"),
        ("a", "1.000 µs · 10.00 %"),
        ("Conv", "4.000 µs · 40.00 %"),
        ("c", "3.500 µs · 35.00 %"),
        ("y", "float32 4"),
    ];
    assert_eq!(shown, expected.map(|(label, note)| (label.to_owned(), note.to_owned())));
    assert_eq!(picture.level.nodes[2].most, [Colouring::Time]);
    assert!(picture.level.nodes.iter().filter(|node| !node.most.is_empty()).count() == 1);
    let DrawnKind::Module(level) = &picture.level.nodes[1].what else { panic!("/a is a module") };
    let shown: Vec<(String, String)> = level.nodes.iter().map(of).collect();
    let expected = [("Conv", "1.000 µs · 10.00 %"), ("Conv", "fused"), ("", ""), ("", "")];
    assert_eq!(shown, expected.map(|(label, note)| (label.to_owned(), note.to_owned())));
    assert_eq!(picture.level.nodes[1].about[..2], ["a", "2 operators"]);
    let ends: Vec<(usize, usize)> = level.lines.iter().map(|line| (line.from, line.to)).collect();
    assert_eq!(ends, [(0, 1), (1, 3), (2, 0)]);
    let label = level.lines[0].label.as_ref().expect("its shape is known");
    assert_eq!((label.1.as_str(), level.lines[0].points.is_empty()), ("2×3", false));
    assert!(label.0.y > level.nodes[0].corner.y + 40 && label.0.y < level.nodes[1].corner.y, "{label:?}");
}

#[test]
fn an_input_that_is_not_finite_says_so_instead_of_its_type() {
    let graph = |kind| ModelGraph {
        nodes: vec![Node { gives: vec!["float32 2".to_owned()], ..node("x", kind) }],
        edges: Vec::new(),
        constant: 0,
    };
    let note = |nan, inf| {
        let mut marks = Marks::default();
        marks.add_input("x", nan, inf, None);
        Picture::of(&graph(NodeKind::Input), &marks).level.nodes[0].note.clone()
    };
    assert_eq!([note(0, 0), note(0, 1), note(3, 0)], ["float32 2", "1 infinite", "3 NaN"]);
    assert_eq!(Picture::of(&graph(NodeKind::Input), &Marks::default()).operators, 0);
}

#[test]
fn what_a_run_says_of_a_node_is_a_line_each() {
    assert_eq!(facts(&Mark::default()), Vec::<String>::new());
    let mark = Mark {
        nanos: Some(1_500.0),
        percent: 12.5,
        fused_into: Some("/conv".to_owned()),
        nan: 1,
        inf: 2,
        range: Some((-1.5, 3.0)),
        error: Some(0.25),
        ..Mark::default()
    };
    let lines = [
        "1.500 µs, 12.50 % of a run's time",
        "its time counts for /conv",
        "differs by at most 0.2500 of the largest element",
        "1 NaN, 2 infinite",
        "values from -1.500 to 3.000",
    ];
    assert_eq!(facts(&mark), lines);
    assert_eq!(facts(&Mark { nan: 3, ..Mark::default() }), ["3 NaN, 0 infinite"]);
    assert_eq!(facts(&Mark { inf: 3, ..Mark::default() }), ["0 NaN, 3 infinite"]);
    let without_size = facts(&Mark { error: Some(f64::INFINITY), ..Mark::default() });
    assert_eq!(without_size, ["differs without a size: by NaN, infinity, shape or statistics"]);
}

#[test]
fn the_node_that_stands_out_most_is_the_first_of_the_largest() {
    let mark =
        |percent: f64, error: Option<f64>, nan: u64, inf: u64| Mark { percent, error, nan, inf, ..Mark::default() };
    let marks =
        [mark(0.0, None, 0, 0), mark(2.0, Some(0.5), 0, 0), mark(9.0, Some(0.5), 0, 1), mark(9.0, Some(0.1), 5, 0)];
    let of = |colouring: Colouring| most(colouring, &marks);
    assert_eq!([Colouring::Time, Colouring::Error, Colouring::Finite].map(of), [Some(2), Some(1), Some(2)]);
    let none = |colouring: Colouring| most(colouring, &marks[..1]);
    assert_eq!([Colouring::Time, Colouring::Error, Colouring::Finite].map(none), [None; 3]);
    assert_eq!(most(Colouring::Finite, &[mark(0.0, None, 1, 0)]), Some(0));
}

#[test]
fn a_label_takes_6_pixels_a_letter_up_to_the_next_dozen() {
    let line = |label: Option<&str>| Line {
        from: 0,
        to: 1,
        points: Vec::new(),
        label: label.map(|label| (Point { x: 0, y: 0 }, label.to_owned())),
    };
    let widths = [None, Some("1"), Some("12"), Some("1×3"), Some("1×3×224")].map(|label| line(label).label_width());
    assert_eq!(widths, [0, 12, 12, 24, 48]);
}
