//! `multipart/related`: a JSON part and the N1, N2 or N4 messages that it refers to by `Content-Id`.
//!
//! RFC 2046 §5.1 and RFC 2387. Not done: nested multiparts, folded part headers, transfer encodings that
//! change the bytes.

use bytes::Bytes;

use crate::header::found;

/// Most parts that a body may have.
pub const MAX_PARTS: usize = 16;
/// Most headers that a part may have.
pub const MAX_PART_HEADERS: usize = 16;
/// Most bytes that the headers of a part may have, line breaks included.
pub const MAX_PART_HEADER_BYTES: usize = 4096;
/// Most bytes that a boundary may have, RFC 2046 §5.1.1.
pub const MAX_BOUNDARY_BYTES: usize = 70;

/// One part of a body. On writing, control characters are left out of its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The media type; `text/plain` for a part that names none, RFC 2046 §5.1.
    pub content_type: String,
    /// What `RefToBinaryData.contentId` refers to, without angle brackets.
    pub content_id: Option<String>,
    /// The content.
    pub body: Bytes,
}

impl Part {
    /// Whether its `Content-Id` is this.
    pub fn is_called(&self, content_id: &str) -> bool {
        self.content_id.as_deref() == Some(content_id)
    }
}

/// A media type or body that cannot be read as `multipart/related`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct MultipartError {
    expected: String,
    found: String,
}

impl MultipartError {
    fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        MultipartError { expected: expected.into(), found: found.into() }
    }
}

/// The boundary that `content_type` names, `None` if the media type is not `multipart/related`.
///
/// # Errors
/// The media type is `multipart/related` with broken parameters or without a usable boundary.
pub fn boundary(content_type: &str) -> Result<Option<String>, MultipartError> {
    Ok(Related::read(content_type)?.map(|related| related.boundary))
}

/// Reads a body without copying it. The root part comes first: the one that `start` names, else the first.
///
/// Tolerated: a preamble, an epilogue, white space after a boundary, LF as line break, a `start` that no part
/// has. The first delimiter decides what a line break is, so that a binary part keeps a CR at its end.
///
/// # Errors
/// The body is empty, truncated, over a bound or of another media type.
pub fn parse(content_type: &str, body: Bytes) -> Result<Vec<Part>, MultipartError> {
    let related = Related::read(content_type)?
        .ok_or_else(|| MultipartError::new("multipart/related", found(content_type.as_bytes())))?;
    let boundary = related.boundary;
    let find = |from, line_break, line| {
        let missing = || MultipartError::new(format!("a line `--{boundary}{line}`"), "none");
        Delimiter::find(&body, from, &boundary, line_break).ok_or_else(missing)
    };
    let mut delimiter = find(0, b"\n", "")?;
    let line_break: &[u8] = if body[..delimiter.end].ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    let mut parts = Vec::new();
    while !delimiter.closes {
        let next = find(delimiter.end, line_break, "--")?;
        if parts.len() == MAX_PARTS {
            return Err(MultipartError::new(format!("at most {MAX_PARTS} parts"), "more"));
        }
        // The line break before a delimiter belongs to the delimiter.
        let end = next.start.saturating_sub(line_break.len()).max(delimiter.end);
        parts.push(Part::read(body.slice(delimiter.end..end))?);
        delimiter = next;
    }
    put_root_first(&mut parts, related.start.as_deref());
    if parts.is_empty() { Err(MultipartError::new("at least one part", "none")) } else { Ok(parts) }
}

/// Writes the media type and the body. The first part is the root.
///
/// `boundary` must have 1 to [`MAX_BOUNDARY_BYTES`] printable ASCII characters, must not end with a space and
/// must not occur in a part; [`write_fresh`] finds one.
pub fn write(parts: &[Part], boundary: &str) -> (String, Bytes) {
    let mut body = Vec::new();
    for part in parts {
        let id = part.content_id.as_deref().map(|id| format!("Content-Id: {}\r\n", printable(id)));
        let (id, content_type) = (id.unwrap_or_default(), printable(&part.content_type));
        let head = format!("--{boundary}\r\n{id}Content-Type: {content_type}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&part.body);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let root = parts.first().map_or("", |part| media_type(&part.content_type));
    let (boundary, root) = (quote(boundary), quote(&printable(root)));
    (format!("multipart/related; boundary={boundary}; type={root}"), body.into())
}

/// Writes a body with a boundary that occurs in no part. The same parts and `seed` give the same bytes.
pub fn write_fresh(parts: &[Part], seed: u64) -> (String, Bytes) {
    let mut random = fastrand::Rng::with_seed(seed);
    loop {
        let boundary = format!("part-{:016x}", random.u64(..));
        let occurs = |part: &Part| part.body.windows(boundary.len()).any(|text| text == boundary.as_bytes());
        if !parts.iter().any(occurs) {
            return write(parts, &boundary);
        }
    }
}

/// What the media type `multipart/related` says about its body.
struct Related {
    boundary: String,
    start: Option<String>,
}

impl Related {
    /// `None` for another media type.
    fn read(content_type: &str) -> Result<Option<Self>, MultipartError> {
        if !media_type(content_type).eq_ignore_ascii_case("multipart/related") {
            return Ok(None);
        }
        let mut rest = content_type.trim_start_matches(|c| c != ';');
        let (mut boundary, mut start) = (None, None);
        while let Some((name, value, after)) = parameter(rest)? {
            match name.to_ascii_lowercase().as_str() {
                "boundary" => set(&mut boundary, &value, "boundary parameter")?,
                "start" => set(&mut start, bare_id(&value), "start parameter")?,
                _ => {}
            }
            rest = after;
        }
        Ok(Some(Related { boundary: usable(boundary.unwrap_or_default())?, start }))
    }
}

/// A media type without its parameters.
fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// The first parameter of `input` and what follows it; `None` if only separators are left.
///
/// ```text
/// parameter = *( ";" / OWS ) token OWS "=" OWS value OWS
/// value     = <"> *( "\" any / any but <"> and "\" ) <">
///           / *( any but ";" )                                ; wider than a token: peers write `=?/+` bare
/// ```
fn parameter(input: &str) -> Result<Option<(&str, String, &str)>, MultipartError> {
    let input = input.trim_start_matches([';', ' ', '\t']);
    if input.is_empty() {
        return Ok(None);
    }
    let broken = || MultipartError::new("a media type parameter `name=value`", found(input.as_bytes()));
    let (name, value) = input.split_once('=').ok_or_else(broken)?;
    let (name, value) = (name.trim_end(), value.trim_start());
    let (value, rest) = match value.strip_prefix('"') {
        Some(quoted) => unquote(quoted).ok_or_else(broken)?,
        None => {
            let (value, rest) = value.split_at(value.find(';').unwrap_or(value.len()));
            (value.trim_end().to_owned(), rest)
        }
    };
    if is_token(name) { Ok(Some((name, value, rest))) } else { Err(broken()) }
}

/// The text up to the closing quote, and what follows it, which is nothing or begins with `;`.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => break,
            '\\' => value.push(chars.next()?),
            other => value.push(other),
        }
    }
    let rest = chars.as_str().trim_start();
    (rest.is_empty() || rest.starts_with(';')).then_some((value, rest))
}

fn quote(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

fn usable(boundary: String) -> Result<String, MultipartError> {
    let printable = boundary.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if (1..=MAX_BOUNDARY_BYTES).contains(&boundary.len()) && printable && !boundary.ends_with(' ') {
        return Ok(boundary);
    }
    let expected = format!("a boundary of 1 to {MAX_BOUNDARY_BYTES} printable characters");
    Err(MultipartError::new(expected, found(boundary.as_bytes())))
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn set(slot: &mut Option<String>, value: &str, what: &str) -> Result<(), MultipartError> {
    match slot.replace(value.to_owned()) {
        Some(_) => Err(MultipartError::new(format!("one {what}"), "several")),
        None => Ok(()),
    }
}

/// A content id without its angle brackets and the white space in them.
fn bare_id(id: &str) -> &str {
    let bare = id.strip_prefix('<').and_then(|id| id.strip_suffix('>')).unwrap_or(id);
    bare.trim_matches([' ', '\t'])
}

fn printable(value: &str) -> String {
    value.chars().filter(|c| !c.is_control()).collect()
}

fn put_root_first(parts: &mut [Part], start: Option<&str>) {
    let is_root = |part: &Part| start.is_some() && part.content_id.as_deref() == start;
    if let Some(root) = parts.iter().position(is_root) {
        parts[..=root].rotate_right(1);
    }
}

/// A line `--boundary` or `--boundary--`, perhaps with white space at its end.
struct Delimiter {
    /// Where the line starts.
    start: usize,
    /// Where the next line starts.
    end: usize,
    closes: bool,
}

impl Delimiter {
    /// The first delimiter at `from` or, later, directly after a `line_break`.
    fn find(body: &[u8], from: usize, boundary: &str, line_break: &[u8]) -> Option<Self> {
        let mut start = from;
        loop {
            if (start == from || body[..start].ends_with(line_break))
                && let Some((rest, closes)) = Self::strip(&body[start..], boundary)
            {
                return Some(Delimiter { start, end: body.len() - rest.len(), closes });
            }
            start += body[start..].iter().position(|b| *b == b'\n')? + 1;
        }
    }

    /// What follows the delimiter that `text` begins with, and whether it is a closing one.
    ///
    /// A longer line is content. RFC 2046 §5.1.1 would take any line that begins with the boundary, but then
    /// the boundary `a` splits parts at lines of `ab`.
    fn strip<'a>(text: &'a [u8], boundary: &str) -> Option<(&'a [u8], bool)> {
        let text = text.strip_prefix(b"--")?.strip_prefix(boundary.as_bytes())?;
        let (text, closes) = text.strip_prefix(b"--").map_or((text, false), |text| (text, true));
        let padding = text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        match &text[padding..] {
            [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => Some((rest, closes)),
            rest @ [] if closes => Some((rest, closes)),
            _ => None,
        }
    }
}

impl Part {
    /// Reads what stands between two delimiters: headers, an empty line, the body.
    fn read(content: Bytes) -> Result<Self, MultipartError> {
        let (mut content_type, mut content_id) = (None, None);
        let mut rest = &content[..];
        for count in 0.. {
            let (line, after) = split_line(rest);
            rest = after;
            if line.is_empty() {
                break;
            }
            if count == MAX_PART_HEADERS || content.len() - rest.len() > MAX_PART_HEADER_BYTES {
                let most = format!("at most {MAX_PART_HEADERS} part headers, {MAX_PART_HEADER_BYTES} bytes");
                return Err(MultipartError::new(most, "more"));
            }
            let (name, value) = header(line)?;
            match name.to_ascii_lowercase().as_str() {
                "content-type" => set(&mut content_type, value, "Content-Type")?,
                "content-id" => set(&mut content_id, bare_id(value), "Content-Id")?,
                "content-transfer-encoding" => identity(value)?,
                _ => {}
            }
        }
        let body = content.slice(content.len() - rest.len()..);
        Ok(Part { content_type: content_type.unwrap_or_else(|| "text/plain".into()), content_id, body })
    }
}

/// The first line of `text` without its line break, and the rest.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|b| *b == b'\n');
    let (line, rest) = end.map_or((text, &[][..]), |end| (&text[..end], &text[end + 1..]));
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

fn header(line: &[u8]) -> Result<(&str, &str), MultipartError> {
    let split = std::str::from_utf8(line).ok().and_then(|line| line.split_once(':'));
    let trimmed = split.map(|(name, value)| (name, value.trim_matches([' ', '\t'])));
    trimmed
        .filter(|(name, value)| is_token(name) && !value.contains(char::is_control))
        .ok_or_else(|| MultipartError::new("a part header `name: value`", found(line)))
}

/// Whether the bytes of a part with this transfer encoding are its content.
fn identity(encoding: &str) -> Result<(), MultipartError> {
    match encoding.to_ascii_lowercase().as_str() {
        "7bit" | "8bit" | "binary" => Ok(()),
        _ => Err(MultipartError::new("a binary transfer encoding", found(encoding.as_bytes()))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const N1: &[u8] = b"\x2e\x05\x01\xc1";
    const TYPE: &str = "multipart/related; boundary=b";

    fn part(content_type: &str, content_id: Option<&str>, body: &[u8]) -> Part {
        let (content_type, content_id) = (content_type.into(), content_id.map(Into::into));
        Part { content_type, content_id, body: Bytes::copy_from_slice(body) }
    }

    /// A create request: JSON and the N1 message that it refers to.
    fn create() -> Vec<Part> {
        let json = part("application/json", None, br#"{"n1SmMsg":{"contentId":"n1"}}"#);
        vec![json, part("application/vnd.3gpp.5gnas", Some("n1"), N1)]
    }

    fn read(content_type: &str, body: &[u8]) -> Result<Vec<Part>, MultipartError> {
        parse(content_type, Bytes::copy_from_slice(body))
    }

    /// Only the part bodies, for the boundary `b`.
    fn bodies(body: &[u8]) -> Result<Vec<Bytes>, MultipartError> {
        Ok(read(TYPE, body)?.into_iter().map(|part| part.body).collect())
    }

    #[test]
    fn a_preamble_and_any_form_of_the_parameters_are_read() {
        let (_, body) = write(&create(), "b=_1/2");
        let body = [b"\r\n", &body[..], b"epilogue\r\n--b=_1/2\r\n"].concat();
        for content_type in [
            r#"Multipart/Related; start="<j>"; type=application/json; boundary=b=_1/2"#,
            r#"multipart/related;BOUNDARY="b=_1/2" ; type="application/json";"#,
            r#" multipart/related ; boundary = "b\=_1\/2"; start-info=";boundary=x""#,
        ] {
            assert_eq!(read(content_type, &body), Ok(create()), "{content_type}");
        }
    }

    #[test]
    fn what_peers_send_is_read() {
        let body =
            b"--=-l/A==\r\nContent-Type: application/json\r\n\r\n{}\r\n--=-l/A==\r\nContent-Id: 5gnas-sm\r\n\
            Content-Type: application/vnd.3gpp.5gnas\r\n\r\n.\x05\x01\xc1\0\r\n\r\n--=-l/A==--\r\n";
        let parts = read(r#"multipart/related; boundary="=-l/A==""#, body);
        let n1 = part("application/vnd.3gpp.5gnas", Some("5gnas-sm"), b".\x05\x01\xc1\0\r\n");
        assert_eq!(parts, Ok(vec![part("application/json", None, b"{}"), n1]));
    }

    #[test]
    fn lf_alone_padding_and_any_case_are_read() {
        let body =
            b"--b \t\nCONTENT-ID:<n1>\ncontent-type: x/y; a=b\nX-Other: 1\n\n\x01\r\n--b\n\n2\n--b--  ";
        let parts = vec![part("x/y; a=b", Some("n1"), b"\x01\r"), part("text/plain", None, b"2")];
        assert_eq!(read(TYPE, body), Ok(parts));
    }

    #[test]
    fn start_names_the_root_part() {
        let [json, n1] = <[Part; 2]>::try_from(create()).expect("two");
        let (content_type, body) = write(&[json.clone(), n1.clone(), json.clone()], "b");
        let parts = parse(&format!("{content_type}; start=\"<n1>\""), body);
        assert_eq!(parts, Ok(vec![n1, json.clone(), json]));
    }

    #[test]
    fn a_boundary_splits_only_at_a_line_of_its_own() {
        let inside = b"x--b\r\n--bc\r\n --b\r\n--b--c\n--b\r\n--b-\r\n\r--b\r\n";
        let body = [b"--b\r\n\r\n", &inside[..], b"\r\n--b--\r\n"].concat();
        assert_eq!(bodies(&body), Ok(vec![Bytes::from_static(inside)]));
    }

    #[test]
    fn a_part_may_be_empty() {
        for body in [
            "--b\r\n\r\n\r\n--b--",
            "--b\r\n\r\n--b--",
            "--b\r\n--b--",
            "--b\r\nA: b\r\n\r\n--b--",
            "--b\n\n--b--",
        ] {
            assert_eq!(bodies(body.as_bytes()), Ok(vec![Bytes::new()]), "{body:?}");
        }
    }

    #[test]
    fn other_media_types_have_no_boundary() {
        for other in ["", "application/json", "multipart/mixed; boundary=b", "multipart/relatedx; boundary=b"]
        {
            assert_eq!(boundary(other), Ok(None));
            assert!(read(other, b"").is_err());
        }
        assert_eq!(boundary(r#"multipart/related; boundary="a\"b\\c""#), Ok(Some(r#"a"b\c"#.into())));
    }

    #[test]
    fn broken_parameters_are_refused_and_shown() {
        let long = format!("boundary={}", "x".repeat(71));
        let a_boundary = "a boundary of 1 to 70 printable characters, found";
        let a_parameter = "a media type parameter `name=value`, found";
        for (parameters, error) in [
            ("", format!("{a_boundary} nothing")),
            ("boundary=", format!("{a_boundary} nothing")),
            ("boundary=\"a \"", format!("{a_boundary} `a `")),
            (&long, format!("{a_boundary} `{}...`", "x".repeat(40))),
            ("boundary=\"a", format!("{a_parameter} `boundary=\\\"a`")),
            ("boundary=\"a\"b", format!("{a_parameter} `boundary=\\\"a\\\"b`")),
            ("x; boundary=a", format!("{a_parameter} `x; boundary=a`")),
            ("boundary=a; Boundary=b", "one boundary parameter, found several".into()),
        ] {
            let refused = boundary(&format!("multipart/related; {parameters}")).expect_err(parameters);
            assert_eq!(refused.to_string(), format!("expected {error}"));
        }
    }

    #[test]
    fn broken_bodies_are_refused_and_named() {
        let many_parts = "--b\r\n\r\n".repeat(MAX_PARTS + 1) + "--b--";
        let many_headers = format!("--b\r\n{}\r\n\r\n--b--", "A: b\r\n".repeat(MAX_PART_HEADERS + 1));
        let long_header = format!("--b\r\nA: {}\r\n\r\n\r\n--b--", "b".repeat(MAX_PART_HEADER_BYTES));
        for (body, error) in [
            ("", "a line `--b`, found none"),
            ("garbage", "a line `--b`, found none"),
            ("--b--\r\n", "at least one part, found none"),
            ("--b\r\n\r\n1\r\n--b", "a line `--b--`, found none"),
            ("--b\r\nno header\r\n\r\n--b--", "a part header `name: value`, found `no header`"),
            ("--b\r\nContent-Id: a\r\nContent-ID: b\r\n\r\n--b--", "one Content-Id, found several"),
            (
                "--b\r\nContent-Transfer-Encoding: base64\r\n\r\n--b--",
                "a binary transfer encoding, found `base64`",
            ),
            (&many_parts, "at most 16 parts, found more"),
            (&many_headers, "at most 16 part headers, 4096 bytes, found more"),
            (&long_header, "at most 16 part headers, 4096 bytes, found more"),
        ] {
            assert_eq!(bodies(body.as_bytes()).expect_err(body).to_string(), format!("expected {error}"));
        }
    }

    #[test]
    fn a_truncated_body_is_refused() {
        let (content_type, body) = write(&create(), "b");
        for end in 0..body.len() - "\r\n".len() {
            let refused = parse(&content_type, body.slice(..end));
            assert!(refused.is_err_and(|error| error.expected.starts_with("a line `--b")), "{end}");
        }
    }

    #[test]
    fn the_media_type_names_boundary_and_root() {
        let (content_type, body) = write(&create(), r#"a"b"#);
        assert_eq!(content_type, r#"multipart/related; boundary="a\"b"; type="application/json""#);
        assert_eq!(parse(&content_type, body), Ok(create()));
    }

    #[test]
    fn an_id_cannot_smuggle_a_header() {
        let (content_type, body) = write_fresh(&[part("a/b", Some("x\r\nContent-Type: c/d"), b"")], 0);
        assert_eq!(parse(&content_type, body), Ok(vec![part("a/b", Some("xContent-Type: c/d"), b"")]));
    }

    #[test]
    fn a_fresh_boundary_occurs_in_no_part() {
        let taken = boundary(&write_fresh(&create(), 7).0).expect("valid").expect("related");
        let parts = [part("a/b", None, format!("\r\n--{taken}--\r\n").as_bytes())];
        let (content_type, body) = write_fresh(&parts, 7);
        assert_eq!(parse(&content_type, body.clone()), Ok(parts.to_vec()));
        assert_eq!(write_fresh(&parts, 7), (content_type, body));
    }

    /// Bytes that look like the structure of a body.
    fn confusing() -> impl Strategy<Value = Vec<u8>> {
        let structure = ["\r\n", "\n", "\r", "--", "b", "--b--", "Content-Id: b"].map(Vec::from);
        let piece = prop_oneof![proptest::sample::select(structure.to_vec()), vec(any::<u8>(), 0..9)];
        vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(seed: u64, all in vec((confusing(), "[!-;=-~]{1,9}"), 1..=MAX_PARTS)) {
            let parts: Vec<_> = all.iter().map(|(body, id)| part("a/b; c=d", Some(id), body)).collect();
            let (content_type, body) = write_fresh(&parts, seed);
            prop_assert_eq!(parse(&content_type, body), Ok(parts));
        }

        #[test]
        fn a_boundary_within_lines_never_splits(body in confusing()) {
            let mut body = [b"\r\n", &body[..]].concat();
            while let Some(line) = body.windows(5).position(|text| text == b"\r\n--b") {
                body.insert(line + 2, b' ');
            }
            let parts = vec![part("a/b", None, &body)];
            prop_assert_eq!(read(TYPE, &write(&parts, "b").1), Ok(parts));
        }

        #[test]
        fn any_bytes_give_an_answer(body in confusing(), content_type: String) {
            let _ = read(&format!("multipart/related;{content_type}"), &body);
            for end in 0..body.len() {
                let _ = read(TYPE, &[b"--b\r\n", &body[..end]].concat());
            }
        }
    }
}
