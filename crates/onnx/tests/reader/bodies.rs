//! The graphs inside `If`, `Loop` and `Scan`.

use opscope_onnx::{Graph, OnnxError, OperatorId, Producer, ValueId};

use crate::files::{fixture, from_bytes};
use crate::wire::{Message, graph, model, node, subgraph};

/// Returns an `If` with these branches.
fn choose(name: &str, then: Message, otherwise: Message, output: &str) -> Message {
    let branches = [subgraph("then_branch", then), subgraph("else_branch", otherwise)];
    branches.into_iter().fold(node(name, "If", &["flag"], &[output]), |node, branch| node.message(5, branch))
}

fn names<'a>(graph: &'a Graph, ids: &[Option<ValueId>]) -> Vec<&'a str> {
    ids.iter().map(|id| id.map_or("", |id| graph.value(id).name.as_str())).collect()
}

#[test]
fn the_operators_of_a_loop_have_names_and_ids_behind_those_of_the_main_graph() {
    let graph = fixture("loop").unwrap();
    let owner = graph.operators.iter().find(|operator| operator.op_type == "Loop").unwrap();
    let [body] = graph.bodies_of(owner.id) else { panic!("a Loop has one body: {:?}", graph.bodies) };
    assert_eq!((body.owner, body.attribute.as_str()), (owner.id, "body"));
    assert_eq!(body.operators.start.index(), graph.operators.len());
    let inner = graph.operators_of(body);
    assert!(!inner.is_empty() && inner.len() == graph.inner_operators.len());
    for (position, operator) in inner.iter().enumerate() {
        assert!(operator.name.starts_with(&format!("{}/", owner.name)), "{}", operator.name);
        assert_eq!(operator.position, position);
        assert_eq!(graph.operator_named(&operator.name).map(|found| found.id), Some(operator.id));
        assert_eq!(graph.owners_of(operator.id), [owner.id]);
        for (slot, output) in operator.outputs.iter().enumerate() {
            assert_eq!(graph.value(output.unwrap()).producer, Producer::Operator(operator.id, slot));
        }
    }
    assert!(body.inputs.len() >= 2 && body.inputs.iter().all(|&input| graph.value(input).producer == Producer::Input));
    assert!(graph.body_of(owner.id).is_none());
    assert!(graph.operators.iter().all(|operator| operator.id < body.operators.start));
}

#[test]
fn names_in_both_branches_and_outside_are_told_apart() {
    let branch =
        |input: &str| graph(&[node("", "Relu", &[input], &["r"]), node("/a", "Relu", &["r"], &["s"])], &[], &["s"]);
    let nodes = [
        node("choose/Relu_0", "Relu", &["x"], &["choose/r"]),
        node("", "Relu", &["x"], &["flag"]),
        choose("choose", branch("x"), branch("choose/r"), "y"),
    ];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["y"]))).unwrap();
    let inner: Vec<_> = graph.inner_operators.iter().map(|operator| operator.name.as_str()).collect();
    assert_eq!(inner, ["choose/Relu_0_2", "choose/a", "choose/Relu_0_3", "choose/a_2"]);
    let values: Vec<_> = graph.inner_values.iter().map(|value| value.name.as_str()).collect();
    assert_eq!(values, ["choose/r_2", "choose/s", "choose/r_3", "choose/s_2"]);
    assert_eq!(
        graph.bodies.iter().map(|body| body.attribute.as_str()).collect::<Vec<_>>(),
        ["then_branch", "else_branch"]
    );
    assert_eq!(names(&graph, &graph.inner_operators[2].inputs), ["choose/r"], "the one outside");
    assert_eq!(graph.nearest_operator("choose/Relu_0_").unwrap().name, "choose/Relu_0_3");
}

#[test]
fn a_body_takes_the_innermost_value_of_a_name() {
    let innermost = graph(&[node("", "Add", &["x", "flag"], &["r"])], &[], &["r"]);
    let shadowing = [node("", "Relu", &["outside"], &["x"]), choose("inner", innermost.clone(), innermost, "s")];
    let plain = graph(&[], &[], &["x"]);
    let nodes = [
        node("", "Relu", &["x"], &["flag"]),
        node("", "Relu", &["x"], &["outside"]),
        choose("outer", graph(&shadowing, &[], &["s"]), plain, "y"),
    ];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["y"]))).unwrap();
    let adds: Vec<_> = graph.inner_operators.iter().filter(|operator| operator.op_type == "Add").collect();
    assert_eq!(adds.iter().map(|add| &*add.name).collect::<Vec<_>>(), ["outer/inner/Add_0", "outer/inner/Add_0_2"]);
    assert_eq!(names(&graph, &adds[0].inputs), ["outer/x", "flag"]);
    let [outer, inner] = ["outer", "outer/inner"].map(|name| graph.operator_named(name).unwrap());
    assert_eq!(graph.owners_of(adds[0].id), [outer.id, inner.id]);
    let captures = |operator: &opscope_onnx::Operator| {
        names(&graph, &operator.captures.iter().copied().map(Some).collect::<Vec<_>>()).join(" ")
    };
    assert_eq!((captures(outer), captures(inner)), ("flag outside x".to_owned(), "flag outer/x".to_owned()));
    let consumers = |name: &str| graph.value_named(name).unwrap().consumers.clone();
    assert_eq!(consumers("outer/x"), [inner.id], "the operator around stands for those inside of it");
    assert_eq!(consumers("outside"), [outer.id]);
    let plain = &graph.bodies_of(outer.id)[1];
    assert!(graph.operators_of(plain).is_empty() && plain.values.is_empty());
    assert_eq!(plain.outputs, [graph.value_named("x").unwrap().id], "it passes a value from outside");
}

#[test]
fn an_unsorted_body_is_put_in_order_and_keeps_its_positions() {
    let body = graph(&[node("late", "Relu", &["a"], &["b"]), node("early", "Relu", &["x"], &["a"])], &[], &["b"]);
    let nodes = [node("", "Relu", &["x"], &["flag"]), choose("choose", body.clone(), body, "y")];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["y"]))).unwrap();
    let found: Vec<_> = graph.inner_operators.iter().map(|inner| (&*inner.name, inner.position)).collect();
    assert_eq!(found, [("choose/early", 1), ("choose/late", 0), ("choose/early_2", 1), ("choose/late_2", 0)]);
}

#[test]
fn a_body_that_is_no_graph_is_refused_with_its_place() {
    let refusal = |body: Message| {
        let nodes = [node("", "Relu", &["x"], &["flag"]), choose("choose", body, graph(&[], &[], &["x"]), "y")];
        from_bytes(model(graph(&nodes, &["x"], &["y"]))).unwrap_err().to_string()
    };
    let twice = refusal(graph(&[node("", "Relu", &["x"], &["r"]), node("", "Relu", &["x"], &["r"])], &[], &["r"]));
    assert!(twice.contains("in 'then_branch' of the node 'choose', the value 'r' has two producers"), "{twice}");
    let cycle = refusal(graph(&[node("", "Relu", &["b"], &["a"]), node("", "Relu", &["a"], &["b"])], &[], &["b"]));
    assert!(cycle.contains("the nodes 'choose/Relu_0', 'choose/Relu_1' wait for each other"), "{cycle}");
    let unnamed = refusal(graph(&[], &[""], &["x"]));
    assert!(unnamed.contains("in 'then_branch' of the node 'choose', an input has no name"), "{unnamed}");
}

/// Thirty nested bodies, with many operators in the innermost, which all take values from outside. Searching every
/// level for what each level captures would take seconds.
#[test]
fn a_deep_body_with_many_operators_has_names_and_owners() {
    let operators: Vec<_> = (0..20_000).map(|index| node("", "Add", &["x", "flag"], &[&format!("v{index}")])).collect();
    let body = (0..30).fold(graph(&operators, &[], &["v0"]), |inner, _| {
        graph(&[node("", "If", &["flag"], &["s"]).message(5, subgraph("then_branch", inner))], &[], &["s"])
    });
    let nodes = [node("", "Relu", &["x"], &["flag"]), choose("choose", body, graph(&[], &[], &["x"]), "y")];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["y"]))).unwrap();
    let last = OperatorId::new(graph.all_operators().count() as u32 - 1);
    assert_eq!(graph.owners_of(last).len(), 31);
    assert_eq!(graph.operator(last).name, format!("choose{}/Add_19999", "/If_0".repeat(30)));
    assert_eq!(names(&graph, &graph.operator(last).inputs), ["x", "flag"]);
}

#[test]
fn weights_of_bodies_are_read_with_those_of_the_main_graph() {
    let weight =
        |name: &str, number: f32| Message::default().int(1, 1).int(2, 1).text(8, name).bytes(9, &number.to_le_bytes());
    let branch = |input: &str, number: f32| {
        let adds = graph(&[node("", "Add", &[input, "w"], &["r"])], &["given"], &["r"]);
        adds.message(5, weight("w", number)).message(5, weight("u", -number))
    };
    let outer = [node("", "Relu", &["v"], &["t"]), choose("inner", branch("t", 3.0), branch("x", 4.0), "s")];
    let outer = graph(&outer, &[], &["s"]).message(5, weight("v", 2.0));
    // The first node takes what the second computes, and is executed after it.
    let nodes = [
        choose("late", branch("e", 5.0), branch("x", 6.0), "z"),
        choose("early", branch("x", 1.0), outer, "e"),
        node("", "Relu", &["x"], &["flag"]),
    ];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["z"]).message(5, weight("w", 0.0)))).unwrap();
    let mut found = Vec::new();
    let read = graph.initializers(
        |id| !graph.value(id).name.ends_with('u'),
        |id, tensor| {
            assert_eq!(graph.value(id).producer, Producer::Initializer);
            found.push(format!("{} {}", graph.value(id).name, f32::from_le_bytes(tensor.bytes().try_into().unwrap())));
            Ok::<(), OnnxError>(())
        },
    );
    read.unwrap();
    let expected = ["w 0", "early/w 1", "early/v 2", "early/inner/w 3", "early/inner/w_2 4", "late/w 5", "late/w_2 6"];
    assert_eq!(
        found.iter().filter(|text| !text.contains("u_2")).collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
}
