"""Forty tools and forty questions of our own, each with the tool that is meant."""

from __future__ import annotations

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.method import Document

TOOLS = """
files | read_file | Read a text file from the disk | path: where the file is
files | write_file | Write text to a file, replacing what was there | path, content
files | list_directory | List the entries of a folder | path
files | move_file | Move or rename a file | source, destination
files | search_files | Search for files whose names match a pattern | pattern
github | create_issue | Open a new issue in a repository | owner, repo, title, body
github | list_issues | List the issues of a repository | owner, repo, state: open or closed
github | get_pull_request | Get one pull request with its changes | owner, repo, number
github | list_commits | List the commits of a branch | owner, repo, branch
github | mergePullRequest | Merge a pull request | number, method: merge, squash or rebase
github | searchCode | Search code in all repositories | query
postgres | run_query | Run a SQL statement | sql: the statement
postgres | list_tables | List the tables of a database | schema
postgres | describe_table | Describe the columns of a table | table
mysql | execute_sql | Execute SQL on a MySQL server | statement
weather | get_forecast | Weather forecast of a place for the next days | city, days
weather | get_alerts | Warnings of storms and floods | state
mail | send_email | Send an email | to, subject, body, attachments
mail | search_messages | Search the mailbox | query, since
mail | delete_message | Delete a message for good | id
calendar | createEvent | Create an event in a calendar | title, start, end, attendees
calendar | find_free_time | Find when everybody is free | people, from, to
calendar | list_events | List events of a day or week | from, to
slack | post_message | Post a message in a channel | channel, text
slack | list_channels | List public and private channels | limit
maps | geocode | Turn an address into coordinates | address
maps | reverse_geocode | Turn coordinates into an address | latitude, longitude
maps | get_directions | Directions from one place to another | origin, destination, mode: walking, driving
finance | get_exchange_rate | Exchange rate between two currencies | base, target
finance | get_stock_price | Current price of a stock | symbol
finance | create_invoice | Create an invoice for a customer | customer, amount
media | transcribe_audio | Turn speech into text | file, language
media | generate_image | Generate a picture from a description | prompt, size
media | resize_image | Change the size of a picture | file, width, height
media | translate_text | Translate text into another language | text, target
k8s | list_pods | List the pods of a Kubernetes cluster | namespace
k8s | scale_deployment | Change the number of replicas of a deployment | name, replicas
k8s | get_logs | Logs of a container | pod, container, tail
web | fetch_page | Fetch a web page as Markdown | url
web | take_screenshot | Take a screenshot of a web page | url, width
"""
QUESTIONS = """
Show me what is in notes.txt | read_file
save "hello" to /tmp/a.txt | write_file
what is in the folder /home? | list_directory
rename report.txt to old.txt | move_file
find all files named *.py | search_files
Please open a new issue about the crash in acme/app | create_issue
show me open issues of the repo 'acme/app' | list_issues
get PR 72 | get_pull_request
which commits are on the branch main | list_commits
merge pull requests | mergePullRequest
search the code for TODO | searchCode
run SELECT 1 as a query | run_query
list all tables | list_tables
which columns does the table users have | describe_table
execute a statement on my sql server | execute_sql
what will the weather be in Oslo | get_forecast
are there flood warnings | get_alerts
mail the report to anna@example.com | send_email
search my mailbox for invoices | search_messages
remove the message | delete_message
create a calendar event for Monday | createEvent
when are we both free? | find_free_time
list events of this week | list_events
Post 'We are live. Have a look.' in the #general channel | post_message
list channels | list_channels
coordinates of an address | geocode
what address is at 59.9, 10.7 (latitude, longitude)? | reverse_geocode
driving directions from Oslo to Bergen | get_directions
exchange rate of EUR and USD | get_exchange_rate
stock price of ACME | get_stock_price
create invoices for a customer | create_invoice
turn this speech to text: talk.mp3 | transcribe_audio
generate a photo of a cat | generate_image
make the picture larger, change its size | resize_image
translate 'good morning' into French | translate_text
list kubernetes pods | list_pods
scale the deployment to 3 replicas | scale_deployment
logs of the container | get_logs
fetch https://example.com/ as markdown page | fetch_page
screenshot | take_screenshot
查询奥斯陆的天气预报 | get_forecast
请帮我翻译这段文字 | translate_text
搜索代码 | searchCode
欧元的汇率是多少 | get_exchange_rate
发送邮件 | send_email
"""


def tools() -> list[Document]:
    """One document for each of them."""
    found: list[Document] = []
    for line in TOOLS.strip().splitlines():
        server, name, description, parameters = (part.strip() for part in line.split(" | "))
        schema = {
            "properties": {part.partition(":")[0].strip(): {"description": part} for part in parameters.split(",")}
        }
        raw = {"name": name, "description": description, "inputSchema": schema}
        found.append(Document(Ref("tool", server, name), raw))
    return found


def questions() -> list[tuple[str, str]]:
    """What is asked, and the name of the tool that is meant."""
    parts = (line.rpartition(" | ") for line in QUESTIONS.strip().splitlines())
    return [(question, name) for question, _, name in parts]
