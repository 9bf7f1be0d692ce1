/// The only style that the page's policy allows.
pub(super) const STYLE: &str = include_str!("style.css");
/// The only script that the page's policy allows.
pub(super) const SCRIPT: &str = include_str!("script.js");

/// The policy: nothing is loaded, and only the style and the script above are allowed, by their SHA-256.
pub(super) const POLICY: &str = "default-src 'none'; \
     style-src 'sha256-0krm15ADVRFwFFeBIfJ7MTQEml/8JsqCNB7K+eeFPaM='; \
     script-src 'sha256-wJJujy4PrG+ltTDM6pVGe+QeT7Y3c056T0Dwtk50vOM='; \
     img-src data:; base-uri 'none'; form-action 'none'";

#[cfg(test)]
mod tests {
    use base64::Engine;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_policy_allows_the_style_and_the_script_and_nothing_else() {
        let hash = |text: &str| base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text));
        let (style, script) = (hash(STYLE), hash(SCRIPT));
        let expected = format!(
            "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; \
             img-src data:; base-uri 'none'; form-action 'none'"
        );
        assert_eq!(POLICY, expected);
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains("</"), "it loads nothing");
        for forbidden in ["</", "<!--", "innerHTML", "eval(", "fetch(", "import("] {
            assert!(!SCRIPT.contains(forbidden), "the script has {forbidden}");
        }
    }
}
