//! The attributes `exported` and `in_table`. `opscope-border` re-exports and describes them.
//!
//! They read the function's signature token by token, and leave its body as it is. A parser for all of Rust would be
//! many times as large.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Exports a function to C. See `opscope-border`.
#[proc_macro_attribute]
pub fn exported(options: TokenStream, item: TokenStream) -> TokenStream {
    Function::read(item).map_or_else(Wrong::report, |function| function.written(options, Reached::ByName))
}

/// Makes a function one that C calls through a table. See `opscope-border`.
#[proc_macro_attribute]
pub fn in_table(options: TokenStream, item: TokenStream) -> TokenStream {
    Function::read(item).map_or_else(Wrong::report, |function| function.written(options, Reached::ByPointer))
}

/// How C finds a function.
#[derive(PartialEq, Eq)]
enum Reached {
    ByName,
    ByPointer,
}

/// An error in the function, and its position.
struct Wrong(Span, &'static str);

impl Wrong {
    fn report(self) -> TokenStream {
        let Self(span, text) = self;
        let message = parenthesized(TokenTree::Literal(Literal::string(text)).into());
        let mut tokens: TokenStream = "::core::compile_error!".parse().expect("a path");
        tokens.extend([message, TokenTree::Punct(Punct::new(';', Spacing::Alone))]);
        tokens.into_iter().map(|token| with_span(token, span)).collect()
    }
}

/// A function, cut into its parts.
struct Function {
    /// Documentation and other attributes, the visibility, and an explicit ABI.
    before: TokenStream,
    /// Whether it has an explicit ABI.
    has_abi: bool,
    name: Ident,
    parameters: Vec<Parameter>,
    /// The return type; empty for none.
    returned: TokenStream,
    body: Group,
}

/// A parameter, and the name of the parameter with its count.
struct Parameter {
    tokens: TokenStream,
    counted: Option<(Ident, Ident)>,
}

impl Function {
    fn read(item: TokenStream) -> Result<Self, Wrong> {
        let mut tokens = item.into_iter().peekable();
        let (mut before, mut has_abi) = (TokenStream::new(), false);
        loop {
            match tokens.next() {
                Some(TokenTree::Ident(word)) if word.to_string() == "fn" => break,
                Some(TokenTree::Ident(word)) if word.to_string() == "unsafe" => {
                    return Err(Wrong(word.span(), "an exported function is safe: its arguments are typed"));
                }
                Some(token) => {
                    has_abi |= matches!(&token, TokenTree::Ident(word) if word.to_string() == "extern");
                    before.extend([token]);
                }
                None => return Err(Wrong(Span::call_site(), "only a function can be exported")),
            }
        }
        let name = match tokens.next() {
            Some(TokenTree::Ident(name)) => name,
            _ => return Err(Wrong(Span::call_site(), "the function has no name")),
        };
        let parameters = match tokens.next() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => group,
            _ => return Err(Wrong(name.span(), "an exported function has no generic parameters")),
        };
        let parameters = split(parameters.stream()).into_iter().map(Parameter::read).collect::<Result<_, _>>()?;
        let mut rest: Vec<TokenTree> = tokens.collect();
        let body = match rest.pop() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => body,
            _ => return Err(Wrong(name.span(), "an exported function has a body")),
        };
        // After the arrow.
        let returned = rest.into_iter().skip(2).collect();
        Ok(Self { before, has_abi, name, parameters, returned, body })
    }

    /// Returns the function in the form that C calls. `shell` names the function that runs its body; if it is empty,
    /// `Answer::answer` does.
    fn written(self, shell: TokenStream, reached: Reached) -> TokenStream {
        let Self { before, has_abi, name, parameters, returned, body } = self;
        let is_result = matches!(
            returned.clone().into_iter().next(),
            Some(TokenTree::Ident(first)) if first.to_string() == "Result"
        );
        let mut inner = TokenStream::new();
        for (pointer, count) in parameters.iter().filter_map(|parameter| parameter.counted.as_ref()) {
            // SAFETY of the generated code: the signature says that the one argument is the count of the other, and C
            // guarantees it.
            let counted = format!("let {pointer} = unsafe {{ {pointer}.counted({count}) }};");
            inner.extend(generated(&counted, &[pointer, count]));
        }
        inner.extend([TokenTree::Group(body)]);
        let mut tokens = match reached {
            Reached::ByName => generated("#[unsafe(no_mangle)]", &[]),
            Reached::ByPointer => TokenStream::new(),
        };
        tokens.extend(before);
        if !has_abi {
            tokens.extend(generated("extern \"C\"", &[]));
        }
        tokens.extend(generated("fn", &[]));
        let parameters = parameters.into_iter().flat_map(|parameter| {
            parameter.tokens.into_iter().chain([TokenTree::Punct(Punct::new(',', Spacing::Alone))])
        });
        tokens.extend([TokenTree::Ident(name), parenthesized(parameters.collect())]);
        if !returned.is_empty() {
            tokens.extend(generated("->", &[]));
        }
        if !is_result {
            tokens.extend(returned);
            tokens.extend([braced(inner)]);
            return tokens;
        }
        tokens.extend(generated("<", &[]));
        tokens.extend(returned.clone());
        tokens.extend(generated("as ::opscope_border::Answer>::Status", &[]));
        let mut closure = generated("move || ->", &[]);
        closure.extend(returned);
        closure.extend([braced(inner)]);
        let shell = if shell.is_empty() { generated("::opscope_border::Answer::answer", &[]) } else { shell };
        let call = shell.into_iter().chain([parenthesized(closure)]).collect();
        tokens.extend([braced(call)]);
        tokens
    }
}

impl Parameter {
    fn read(tokens: Vec<TokenTree>) -> Result<Self, Wrong> {
        match tokens.as_slice() {
            [TokenTree::Punct(hash), TokenTree::Group(attribute), rest @ ..] if hash.as_char() == '#' => {
                let mut inside = attribute.stream().into_iter();
                let wrong = Wrong(attribute.span(), "only #[counted_by(parameter)] can stand here");
                let (Some(TokenTree::Ident(word)), Some(TokenTree::Group(count))) = (inside.next(), inside.next())
                else {
                    return Err(wrong);
                };
                match (word.to_string().as_str(), count.stream().into_iter().next(), rest.first()) {
                    ("counted_by", Some(TokenTree::Ident(count)), Some(TokenTree::Ident(name))) => {
                        Ok(Self { tokens: rest.iter().cloned().collect(), counted: Some((name.clone(), count)) })
                    }
                    _ => Err(wrong),
                }
            }
            _ => Ok(Self { tokens: tokens.into_iter().collect(), counted: None }),
        }
    }
}

/// Splits parameters at the commas between them, except those inside `<` and `>`.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut parts, mut depth, mut is_arrow) = (vec![Vec::new()], 0, false);
    for token in tokens {
        let sign = match &token {
            TokenTree::Punct(punct) => punct.as_char(),
            _ => ' ',
        };
        match sign {
            '<' => depth += 1,
            '>' if !is_arrow => depth -= 1,
            _ => {}
        }
        is_arrow = sign == '-';
        if sign == ',' && depth == 0 {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(token);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the tokens of a text that the macro generates. Identifiers in `names` are those of the function.
fn generated(text: &str, names: &[&Ident]) -> TokenStream {
    let tokens: TokenStream = text.parse().expect("the macro writes Rust");
    let named = |token: TokenTree| match &token {
        TokenTree::Ident(word) => {
            let own = names.iter().find(|name| name.to_string() == word.to_string());
            own.map_or(with_span(token.clone(), Span::mixed_site()), |name| TokenTree::Ident((*name).clone()))
        }
        TokenTree::Group(group) => {
            let inside = generated(&group.stream().to_string(), names);
            with_span(TokenTree::Group(Group::new(group.delimiter(), inside)), Span::mixed_site())
        }
        _ => with_span(token, Span::mixed_site()),
    };
    tokens.into_iter().map(named).collect()
}

fn with_span(mut token: TokenTree, span: Span) -> TokenTree {
    token.set_span(span);
    token
}

fn parenthesized(tokens: TokenStream) -> TokenTree {
    TokenTree::Group(Group::new(Delimiter::Parenthesis, tokens))
}

fn braced(tokens: TokenStream) -> TokenTree {
    TokenTree::Group(Group::new(Delimiter::Brace, tokens))
}
