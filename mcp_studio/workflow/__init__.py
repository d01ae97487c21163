"""Workflows: plans over tools that are read from a file, checked, run step by step, stored and compared."""

from mcp_studio.workflow.check import check as check
from mcp_studio.workflow.durable import DurableRuns as DurableRuns
from mcp_studio.workflow.model import Workflow as Workflow
from mcp_studio.workflow.records import RunStore as RunStore
from mcp_studio.workflow.run import Run as Run
