//! Small files of our own, and what is found with them.

use crate::Checker;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use sbi::problem::Cause;
use sbi::schema::{Judged, SchemaCheck};
use sbi::traffic::Content;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const LIBRARY: &str = r##"
openapi: 3.0.0
info: {version: 1.0.0, title: Library}
servers:
  - url: '{apiRoot}/nlibrary-loan/v1'
paths:
  /books/{isbn}:
    parameters:
      - {name: isbn, in: path, required: true, schema: {type: string, pattern: '^[0-9]{3}$'}}
    get:
      parameters:
        - {name: page, in: query, required: true, schema: {type: integer, maximum: 9}}
        - {name: tags, in: query, explode: false, schema: {type: array, items: {$ref: 'Common.yaml#/components/schemas/Tag'}}}
        - name: shelf
          in: query
          content: {application/json: {schema: {$ref: 'Common.yaml#/components/schemas/Shelf'}}}
      responses:
        '200': {description: x, content: {application/json: {schema: {$ref: '#/components/schemas/Book'}}}}
        '404': {$ref: 'Common.yaml#/components/responses/Missing'}
        default: {description: Generic Error}
    patch:
      requestBody:
        content: {application/merge-patch+json: {schema: {$ref: '#/components/schemas/Book'}}}
      responses: {'204': {description: x}}
  /books/new:
    get: {responses: {'200': {description: x}}}
  /loans:
    post:
      requestBody:
        required: true
        content:
          application/json: {schema: {$ref: '#/components/schemas/Loan'}}
          multipart/related: {schema: {type: object, properties: {jsonData: {$ref: '#/components/schemas/Loan'}}}}
      callbacks:
        overdue:
          '{$request.body#/remindAt}':
            post:
              requestBody: {required: true, content: {application/json: {schema: {type: object, required: [days]}}}}
              responses: {'204': {description: x}}
      responses:
        '201':
          description: x
          content: {application/json: {schema: {$ref: '#/components/schemas/Loan'}}}
          headers: {Location: {required: true, schema: {type: string}}}
  /elsewhere:
    $ref: 'Other.yaml#/paths/~1elsewhere'
components:
  schemas:
    Book:
      type: object
      required: [title, shelved]
      properties:
        shelved: {type: boolean, readOnly: true}
        title: {type: string, nullable: true}
        price: {type: number, minimum: 0, exclusiveMinimum: true}
        answer: {type: string, enum: [NO, off], nullable: true}
        sequel: {$ref: '#/components/schemas/Book'}
    Loan:
      type: object
      required: [book]
      properties:
        book: {$ref: '#/components/schemas/Book'}
        remindAt: {$ref: 'Common.yaml#/components/schemas/Uri'}
"##;

const COMMON: &str = "
components:
  schemas:
    Uri: {type: string, format: uri}
    Tag: {anyOf: [{type: string, enum: [old, new]}, {type: string}]}
    Shelf: {type: object, required: [row], properties: {row: {type: integer}}}
  responses:
    Missing:
      description: x
      content: {application/json: {schema: {type: object, required: [why]}}}
";

const OTHER: &str = "
paths:
  /elsewhere:
    get: {responses: {'2XX': {description: x}}}
";

/// A directory with these files, gone with this.
struct Library(PathBuf, Checker);

impl Library {
    fn open() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("mock5g-library-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).expect("a directory");
        for (name, text) in
            [("Library.yaml", LIBRARY), ("Common.yaml", COMMON), ("Other.yaml", OTHER), ("Broken.yaml", "{")]
        {
            std::fs::write(dir.join(name), text).expect("a file");
        }
        let checker = Checker::open(&dir).expect("a library");
        Library(dir, checker)
    }

    fn request(&self, method: &str, path: &str, content: &Content) -> Option<Judged> {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        self.1.request(&method, &format!("http://library{path}"), content)
    }

    fn answer(&self, method: &str, path: &str, status: u16, content: &Content) -> String {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let status = StatusCode::from_u16(status).expect("a status");
        self.1
            .answer(&method, &format!("/nlibrary-loan/v1{path}"), status, content)
            .expect("an operation")
            .told()
    }

    fn told(&self, method: &str, path: &str, content: &Content) -> String {
        self.request(method, &format!("/nlibrary-loan/v1{path}"), content).expect("an operation").told()
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn content(media_type: &'static str, body: &str) -> Content {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    Content::new(headers, Bytes::copy_from_slice(body.as_bytes()))
}

fn json(body: &str) -> Content {
    content("application/json; charset=utf-8", body)
}

#[track_caller]
fn assert_starts(told: &str, expected: &str) {
    assert!(
        if expected.is_empty() { told.is_empty() } else { told.starts_with(expected) },
        "{told:?}, not {expected:?}"
    );
}

#[test]
fn parameters_are_known_there_and_valid() {
    let library = Library::open();
    for (target, expected) in [
        ("/books/123?page=1", ""),
        ("/books/123?page=1&tags=old,x&shelf=%7B%22row%22%3A1%7D", ""),
        ("/books/123", "query page: missing"),
        ("/books/123?page=10", "query page: "),
        ("/books/123?page=one", "query page: "),
        ("/books/123?page=1&colour=red", "query colour: the operation has no such parameter"),
        ("/books/123?page=1&shelf=%7B%7D", "query shelf: "),
        ("/books/12?page=1", "{isbn}: "),
        ("/books/new", ""),
        ("/elsewhere", ""),
    ] {
        assert_starts(&library.told("GET", target, &Content::default()), expected);
    }
    for unknown in ["/nlibrary-loan/v1/books", "/nlibrary-loan/v2/loans", "/nlibrary-loan/v1x/loans"] {
        assert!(library.request("GET", unknown, &Content::default()).is_none(), "{unknown}");
    }
    assert!(library.request("GET", "/site-a/nlibrary-loan/v1/elsewhere", &Content::default()).is_some());
}

#[test]
fn a_body_is_held_against_its_schema() {
    let library = Library::open();
    for (body, expected) in [
        (r#"{"book": {"title": null, "answer": "NO", "sequel": {"title": "b", "answer": null}}}"#, ""),
        (r#"{"book": {"title": "a", "more": 1}, "remindAt": "not a URI"}"#, ""),
        (r#"{"book": {}}"#, "/book/title: missing"),
        (r#"{"book": {"title": "a", "sequel": {"title": 7}}}"#, "/book/sequel/title: "),
        (r#"{"book": {"title": "a", "price": 0}}"#, "/book/price: "),
        (r#"{"book": {"title": "a", "answer": "on"}}"#, "/book/answer: "),
        ("{", "the whole body: "),
        ("", "the whole body: expected a body"),
    ] {
        assert_starts(&library.told("POST", "/loans", &json(body)), expected);
    }
    let part = "--x\r\nContent-Type: application/json\r\n\r\n{\"book\":{}}\r\n--x--\r\n";
    let told = library.told("POST", "/loans", &content("multipart/related; boundary=x", part));
    assert_eq!(told, "/book/title: missing");
    assert_starts(
        &library.told("POST", "/loans", &content("text/plain", "x")),
        "header Content-Type: expected application/json",
    );
    assert_starts(&library.told("GET", "/elsewhere", &json("{}")), "the whole body: expected no body");
}

#[test]
fn an_answer_has_a_status_headers_and_a_body_that_are_declared() {
    let library = Library::open();
    let (book, problem) =
        (json(r#"{"title": "a"}"#), content("application/problem+json", r#"{"status": 404}"#));
    let get = |status, content: &Content| library.answer("GET", "/books/123", status, content);
    assert_eq!(get(200, &book), "");
    assert_eq!(get(200, &json("{}")), "/title: missing");
    assert_starts(&get(200, &Content::default()), "the whole body: expected a body");
    assert_starts(&get(404, &problem), "header Content-Type: ");
    assert_eq!(get(403, &problem), "", "problem details where the file leaves it open");
    assert_starts(
        &library.answer("GET", "/elsewhere", 301, &Content::default()),
        "status: 301 is not declared",
    );
    assert_eq!(library.answer("GET", "/elsewhere", 206, &Content::default()), "");
    assert_eq!(library.answer("POST", "/loans", 504, &problem), "", "TS 29.500 §6.11.2");
    let mut created = json(r#"{"book": {"title": "a"}}"#);
    assert_eq!(library.answer("POST", "/loans", 201, &created), "header Location: missing");
    created.headers.insert(LOCATION, HeaderValue::from_static("/loans/1"));
    assert_eq!(library.answer("POST", "/loans", 201, &created), "");
}

#[test]
fn a_callback_is_known_once_somebody_asked_for_it() {
    let library = Library::open();
    let reminder = json(r#"{"weeks": 1}"#);
    assert!(library.request("POST", "/late/7?x=1", &reminder).is_none());
    library.told(
        "POST",
        "/loans",
        &json(r#"{"book": {"title": "a"}, "remindAt": "http://reader/late/7?x=1"}"#),
    );
    let judged = library.request("POST", "/late/7?x=1", &reminder).expect("a callback");
    assert_eq!(
        (judged.told().as_str(), judged.operation.as_str()),
        ("/days: missing", "Library.yaml POST overdue")
    );
    assert!(library.request("PUT", "/late/7?x=1", &reminder).is_none());
    assert!(library.1.apart().request(&Method::POST, "/late/7?x=1", &reminder).is_none(), "another lab's");
}

#[test]
fn what_real_nfs_do_is_tolerated_and_told() {
    let library = Library::open();
    let judged = library
        .request("PATCH", "/nlibrary-loan/v1/books/123", &json(r#"{"title": "a"}"#))
        .expect("an operation");
    assert!(judged.violations[0].tolerated && judged.problem().is_none(), "{}", judged.told());
    let judged = library.request("PATCH", "/nlibrary-loan/v1/books/123", &json("{}")).expect("an operation");
    assert!(judged.problem().expect("a problem").is(Cause::MandatoryIeMissing), "{}", judged.told());
}

#[test]
fn a_directory_without_apis_is_refused() {
    assert!(Checker::open(&PathBuf::from("/no/such/directory")).is_err());
    assert!(matches!(Checker::open(&PathBuf::from("/proc/self/fd")), Err(crate::Unreadable::Empty(_))));
}
